package follow

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// restart is the expected result of a file that is read up to a line's end, and then
// completed.
type restart struct {
	end      int // of the line, in the file
	sessions [2]transcript.Session
	messages [2][]transcript.Message
	events   [2][]transcript.Compaction
	entries  []transcript.Entry // of the lines after end
	peeked   transcript.Session // with the next line, but for its newline
}

// restarts folds text once for each of its line ends.
func restarts(format *transcript.Format, text []byte) []restart {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	lines = lines[:len(lines)-1] // the part after the last newline
	all := make([]restart, 0, len(lines)+1)
	for first, end := 0, 0; first <= len(lines); first++ {
		f := format.NewFold(transcript.File{Name: idA})
		r := restart{end: end}
		keep := func(i int) {
			r.sessions[i] = *f.Sum()
			news := f.Take()
			r.messages[i] = news.Messages
			r.events[i] = news.Compactions
		}
		var e transcript.Entry
		for _, line := range lines[:first] {
			f.Line(line[:len(line)-1], len(line), &e)
		}
		keep(0)
		r.peeked = *f.Sum()
		for i, line := range lines[first:] {
			if i == 0 {
				r.peeked, _ = shown(f, line[:len(line)-1])
			}
			if fresh, _ := f.Line(line[:len(line)-1], len(line), &e); fresh {
				r.entries = append(r.entries, plain(e, f.Sum()))
			}
		}
		keep(1)
		all = append(all, r)
		if first < len(lines) {
			end += len(lines[first])
		}
	}
	return all
}

// TestStories tests that two runs together yield the records of one, each once.
func TestStories(t *testing.T) {
	for _, tt := range stories(t) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := restarts(tt.format, tt.text)
			whole := all[0].sessions[1]
			for _, r := range all {
				var cost, costWhole transcript.Usage
				firsts := 0
				keys := map[transcript.Key]bool{}
				for i := range 2 {
					for _, m := range r.messages[i] {
						cost = cost.Plus(m.Usage).Minus(m.Was)
						if m.Was == (transcript.Usage{}) {
							firsts++
						}
					}
					for _, e := range r.events[i] {
						keys[e.Key] = true
					}
				}
				costWhole = whole.Tokens.Plus(whole.SideTokens)
				if cost != costWhole || firsts != whole.Messages+whole.SideMessages ||
					!cmp.Equal(r.sessions[1], whole) {
					t.Fatalf(
						"cut at %d: %d messages for %+v, want %d for %+v",
						r.end,
						firsts,
						cost,
						whole.Messages+whole.SideMessages,
						costWhole,
					)
				}
				if len(keys) < whole.Total() {
					t.Fatalf(
						"cut at %d: %d compactions, want %d",
						r.end,
						len(keys),
						whole.Total(),
					)
				}
			}
		})
	}
}

// TestEveryOffset tests that a restart repeats and loses nothing, wherever the file ended at
// the last reading: one run reads the file up to each byte, the next one the completed file.
func TestEveryOffset(t *testing.T) {
	t.Parallel()
	for _, tt := range stories(t) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			everyOffset(t, tt.format, "rollout-"+idA+".jsonl", tt.text, tt.step)
		})
	}
}

func everyOffset(
	t *testing.T,
	format *transcript.Format,
	name string,
	text []byte,
	step int,
) {
	all := restarts(format, text)
	parts := runtime.GOMAXPROCS(0)
	if testing.Short() || racing() {
		step *= 61
	}
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			p := newReader(t, format, name, text)
			next := 0
			for k := len(text) * part / parts; k <= len(text)*(part+1)/parts; k += step {
				for next+1 < len(all) && all[next+1].end <= k {
					next++
				}
				if problem := p.restart(k, &all[next]); problem != "" {
					t.Fatalf("cut at byte %d of %d: %s", k, len(text), problem)
				}
			}
		})
	}
}

// reader is a worker's reader, without a loop, and one file.
type reader struct {
	t      *testing.T
	f      *fileReader
	w      *workspace
	out    chan transcript.Change
	path   string
	text   []byte
	format *transcript.Format
}

func newReader(t *testing.T, format *transcript.Format, name string, text []byte) *reader {
	p := &reader{
		t:    t,
		out:  make(chan transcript.Change, 64),
		path: filepath.Join(t.TempDir(), name),
		text: text,
	}
	o := Options{Logger: slog.New(slog.DiscardHandler)}
	o.defaults()
	p.f = &fileReader{Options: o, out: p.out}
	p.w = &workspace{buf: make([]byte, 4096)} // longer lines count as long
	p.format = format
	noErrors(t, os.WriteFile(p.path, text, 0o600))
	return p
}

// read makes the worker read the file and returns its changes.
func (p *reader) read(from transcript.Cursor, known bool) []transcript.Change {
	changes, _, err := p.try(from, known)
	noErrors(p.t, err)
	return changes
}

// try is read for files that may be refused.
func (p *reader) try(
	from transcript.Cursor,
	known bool,
) (changes []transcript.Change, to transcript.Cursor, err error) {
	fl := &file{
		id:     transcript.File{Name: idA},
		cursor: from,
		known:  known,
		format: p.format,
	}
	fl.cursor.Path = p.path
	r := p.f.read(context.Background(), fl, p.w)
	for len(p.out) > 0 {
		changes = append(changes, <-p.out)
	}
	return changes, r.cursor, r.err
}

// restart cuts the file at byte k, reads it, completes it, and continues. It returns the
// difference to the expected result.
func (p *reader) restart(k int, want *restart) string {
	must := func(err error) {
		noErrors(p.t, err)
	}
	must(os.Truncate(p.path, int64(k)))
	first := p.read(transcript.Cursor{}, false)
	file, err := os.OpenFile(p.path, os.O_WRONLY|os.O_APPEND, 0)
	must(err)
	_, err = file.Write(p.text[k:])
	must(err)
	must(file.Close())
	if len(first) != 1 {
		return fmt.Sprintf("%d changes at first", len(first))
	}
	a := first[0]
	session := want.sessions[0]
	if k < len(p.text) && p.text[k] == '\n' {
		session = want.peeked
	}
	if !a.Whole || a.Cursor.Offset != int64(want.end) || !cmp.Equal(a.Session, session) ||
		!slices.Equal(a.Messages, want.messages[0]) ||
		!slices.Equal(a.Compactions, want.events[0]) {
		return "first (-want +got):\n" + cmp.Diff(transcript.Change{
			Cursor:  a.Cursor,
			Name:    idA,
			Whole:   true,
			Session: session,
			News:    transcript.News{Messages: want.messages[0], Compactions: want.events[0]},
		}, a)
	}
	second := p.read(a.Cursor, true)
	if len(second) == 0 {
		if k < len(p.text) {
			return "nothing new"
		}
		return ""
	}
	var got restart
	for _, c := range second {
		if c.Whole || c.Gone || c.From != "" {
			return fmt.Sprintf("read again: %+v", c)
		}
		got.sessions[1] = c.Session
		got.messages[1] = append(got.messages[1], c.Messages...)
		got.events[1] = append(got.events[1], c.Compactions...)
		got.entries = append(got.entries, c.Entries...)
	}
	same := func(a, b transcript.Entry) bool {
		return a.Kind == b.Kind && a.UUID == b.UUID && a.At == b.At && a.Usage == b.Usage &&
			a.Text == b.Text
	}
	if !cmp.Equal(got.sessions[1], want.sessions[1]) ||
		!slices.Equal(got.messages[1], want.messages[1]) ||
		!slices.Equal(got.events[1], want.events[1]) ||
		!slices.EqualFunc(got.entries, want.entries, same) {
		got.end = want.end
		got.sessions[0] = want.sessions[0]
		got.messages[0] = want.messages[0]
		got.events[0] = want.events[0]
		got.peeked = want.peeked
		return "second (-want +got):\n" + cmp.Diff(*want, got, cmp.AllowUnexported(restart{}))
	}
	return ""
}
