package observer

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sm/transcript"
)

// How much of a transcript's end is read for the curve of an agent that is shown, and for
// that of one that is looked at by itself.
const (
	listDepth   = 512 << 10
	detailDepth = 16 << 20
)

// readEnd makes a history of a transcript's last bytes: what was before the observer
// began to look, or what it no longer remembers.
func readEnd(path string, depth int64) (*history, error) {
	// A file of that name may be anything by now; opening must not wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat transcript: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read transcript: %s is not a regular file", filepath.Base(path))
	}
	from := max(0, info.Size()-depth)
	text := make([]byte, info.Size()-from)
	n, err := f.ReadAt(text, from)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	text = text[:n]
	if from > 0 { // it begins within a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return historyOf(strings.TrimSuffix(filepath.Base(path), ".jsonl"), text), nil
}

// historyOf makes a history of lines. They need not be in the order of time: a fork
// holds what it copied after what is its own.
func historyOf(name string, text []byte) *history {
	type found struct {
		at     transcript.Instant
		tokens int64
		opens  bool
		word   transcript.Trigger
	}
	var all []found
	fold, e := transcript.NewFold(name, false), transcript.Entry{}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if text = rest; !whole {
			break
		}
		count := fold.Session.Total()
		fresh, err := fold.Line(line, len(line)+1, &e)
		switch {
		case err != nil || !fresh || e.At == 0:
		case e.Kind == transcript.KindReading:
			all = append(all, found{at: e.At, tokens: e.Context})
		case fold.Session.Total() > count:
			word := e.Trigger
			if e.Kind != transcript.KindBoundary {
				word = transcript.Unknown
			}
			all = append(all, found{e.At, e.PreTokens, true, word})
		}
		fold.Take()
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.at, b.at) })
	h := &history{}
	for _, x := range all {
		if x.opens {
			h.open(x.at.Time(), markCompaction, uint8(x.word), x.tokens)
		} else {
			h.read(x.at.Time(), x.tokens)
		}
	}
	return h
}
