package curve

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sm/handoff/files"
	"sm/transcript"
)

const (
	// ListDepth is how much of a transcript's end is read for the curve of an
	// agent in a list, in bytes.
	ListDepth = 512 << 10
	// DetailDepth is the same for the detail of one agent.
	DetailDepth = 16 << 20
	// chunkBytes is the size of a read. maxLine is the maximum length of a line
	// that is decoded: lines of replies and boundaries are far shorter.
	chunkBytes = 64 << 10
	maxLine    = 2 << 20
)

// ReadEnd returns the curve of a transcript's last depth bytes, for the time
// before the observer started, or that it no longer remembers.
func ReadEnd(path string, format *transcript.Format, depth int64) (*Curve, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, size-depth)
	h, err := ofLines(
		strings.TrimSuffix(filepath.Base(path), ".jsonl"),
		format,
		io.NewSectionReader(f, from, size-from),
		from > 0,
	)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return h, nil
}

// Open opens a transcript and returns its size in bytes. The file may have been
// replaced by anything: opening does not block, and only regular files are accepted.
func Open(path string) (f *os.File, size int64, err error) {
	f, info, err := files.OpenRegular(path, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open transcript %s: %w", filepath.Base(path), files.Plain(err))
	}
	return f, info.Size(), nil
}

// ofLines returns the curve of a transcript's lines. It skips the first line if
// that is cut. The lines need not be ordered by time: a fork has its copied
// records after its own.
func ofLines(
	name string,
	format *transcript.Format,
	text io.Reader,
	cut bool,
) (*Curve, error) {
	type found struct {
		at     transcript.Instant
		tokens int64
		cause  string // of a compaction, "" for a reading
	}
	var all []found
	fold := format.NewFold(transcript.File{Name: name})
	e := transcript.Entry{}
	err := eachLine(text, func(line []byte) {
		if cut {
			cut = false
			return
		}
		count := fold.Sum().Total()
		fresh, err := fold.Line(line, len(line)+1, &e)
		switch {
		case err != nil || !fresh || e.At == 0:
		case e.Kind == transcript.KindReading:
			all = append(all, found{at: e.At, tokens: e.Context})
		case fold.Sum().Total() > count:
			cause := transcript.Unknown
			if e.Kind == transcript.KindBoundary {
				cause = e.Trigger
			}
			all = append(all, found{e.At, e.PreTokens, cause.String()})
		}
		fold.Take()
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.at, b.at) })
	h := &Curve{}
	for _, x := range all {
		if x.cause != "" {
			h.Open(x.at.Time(), compaction, x.cause, x.tokens)
		} else {
			h.Read(x.at.Time(), x.tokens)
		}
	}
	return h, nil
}

// eachLine calls do for each complete line, without its newline, and reuses the
// memory of the line. A line longer than maxLine is passed as empty.
func eachLine(text io.Reader, do func(line []byte)) error {
	r := bufio.NewReaderSize(text, chunkBytes)
	long := []byte(nil)
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case err == nil && len(long) == 0:
			do(part[:len(part)-1])
			continue
		case err == io.EOF:
			return nil
		case err != nil && err != bufio.ErrBufferFull:
			return err
		}
		long = append(long, part[:min(len(part), maxLine+1-len(long))]...)
		if err == nil {
			if long = bytes.TrimSuffix(long, []byte("\n")); len(long) > maxLine {
				long = long[:0]
			}
			do(long)
			long = long[:0]
		}
	}
}
