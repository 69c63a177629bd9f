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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/codex"
)

// story is a transcript of about n bytes with all that a fold remembers from line
// to line: messages of several lines, replays, compactions in each shape, titles,
// records without names, bad lines and blank ones.
func story(n int) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	at := func(i, ms int) string { return fmt.Sprintf("2026-11-20T08:%02d:%02d.%03dZ", i/60%60, i%60, ms) }
	line(`{"type":"assistant","message":{"usage":{"input_tokens":900,"output_tokens":3}}}`)
	line(`{"type":"summary","summary":"A title that counts, while no record names a version","leafUuid":"t"}`)
	line(`{"type":"assistant","message":{"usage":{"input_tokens":400,"output_tokens":3}}}`)
	for i := 0; b.Len() < n; i++ {
		stamp := at(i, 0)
		line(`{"type":"user","uuid":"p%d","timestamp":"%s","version":"2.1.197","cwd":"/home/dev/w%d","sessionId":"s","message":{"role":"user","content":"%s"}}`,
			i, stamp, i/20, strings.Repeat("do é ", i%40))
		for part := range 3 { // one message, its output growing
			line(`{"type":"assistant","uuid":"a%d-%d","timestamp":"%s","version":"2.1.197","sessionId":"s","message":{"id":"m%d","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x\n"}],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}}`,
				i, part, at(i, part), i, 3, 1000*i, 1+part*part)
			if part == 1 && i%3 == 0 {
				line(`{"type":"user","uuid":"r%d","timestamp":"%s","message":{"content":[{"type":"tool_result","content":"ok"}]}}`, i, stamp)
			}
		}
		switch i % 11 {
		case 2:
			line(`{"type":"assistant","uuid":"a%d-1","timestamp":"%s","message":{"id":"m%d","usage":{"input_tokens":9,"output_tokens":99}}}`, i-1, stamp, i-1) // a replay
		case 3:
			line(`{"type":"system","subtype":"compact_boundary","uuid":"b%d","timestamp":"%s","compactMetadata":{"trigger":"auto","preTokens":%d}}`, i, at(i, 9), 1000*i)
			line(`{"type":"user","isCompactSummary":true,"uuid":"s%d","parentUuid":"b%d","timestamp":"%s","message":{"content":"%s"}}`, i, i, at(i, 9), strings.Repeat("It went so. ", 30))
		case 5: // the summary first
			line(`{"type":"user","isCompactSummary":true,"uuid":"s%d","timestamp":"%s","message":{"content":"%s"}}`, i, at(i, 7), strings.Repeat("It went well. ", 30))
			line(`{"type":"system","subtype":"compact_boundary","uuid":"b%d","timestamp":"%s","compactMetadata":{"trigger":"manual","preTokens":%d,"preservedSegment":{"anchorUuid":"s%d"}}}`, i, at(i, 8), 1000*i, i)
		case 6:
			line("{\"type\":\"assistant\",\nnot JSON\n\n \t \n[1]")
		case 7:
			line(`{"type":"summary","summary":"A title","leafUuid":"a%d-0"}`, i)
		case 8:
			line(`{"type":"assistant","isSidechain":true,"uuid":"c%d","timestamp":"%s","message":{"id":"mc%d","usage":{"input_tokens":50,"output_tokens":5}}}`, i, stamp, i)
		case 9:
			line(`{"type":"user","isCompactSummary":true,"uuid":"o%d","forkedFrom":{"sessionId":"x","messageUuid":"y%d"},"timestamp":"%s","message":{"content":"%s"}}`, i, i, at(i, 5), strings.Repeat("Once more. ", 30))
		default:
			line(`{"type":"system","subtype":"turn_duration","uuid":"t%d","timestamp":"%s","durationMs":5}`, i, at(i, 10))
		}
	}
	return b.Bytes()
}

// restart is what a file read up to a line's end, and then completed, has to give.
type restart struct {
	end      int // of the line, in the file
	sessions [2]transcript.Session
	messages [2][]transcript.Message
	events   [2][]transcript.Compaction
	entries  []transcript.Entry // of the lines after end
	peeked   transcript.Session // with the next line, but for its newline
}

// codexStory is a transcript of the real client, with compactions and long lines.
func codexStory(t *testing.T) []byte {
	t.Helper()
	names, err := filepath.Glob("../codex/testdata/transcripts/manual-compact/sessions/*/*/*/*.jsonl")
	if err != nil || len(names) != 1 {
		t.Fatalf("%v: %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// codexName is the name of a file of idA's thread.
const codexName = "rollout-2026-11-20T08-00-00-" + idA + ".jsonl"

// restarts folds text once for each of its line ends.
func restarts(format *transcript.Format, text []byte) []restart {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	lines = lines[:len(lines)-1] // what follows the last newline
	all := make([]restart, 0, len(lines)+1)
	for first, end := 0, 0; first <= len(lines); first++ {
		f, r := format.NewFold(transcript.File{Name: idA}), restart{end: end}
		keep := func(i int) {
			r.sessions[i] = *f.Sum()
			messages, events := f.Take()
			r.messages[i], r.events[i] = slices.Clone(messages), events
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
				r.entries = append(r.entries, plain(e))
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

// The story itself: every kind of record is in it, and two runs together tell what
// one does, nothing twice and nothing less.
func TestStory(t *testing.T) {
	all := restarts(claude.Format(), story(60_000))
	whole := all[0].sessions[1]
	if whole.Compactions != [3]int{4, 4, 5} || whole.Bad < 6 || whole.SideMessages < 3 || whole.Turns < 20 {
		t.Errorf("the story is too dull: %+v", whole)
	}
	for _, r := range all {
		var cost, costWhole transcript.Usage
		firsts, keys := 0, map[transcript.Key]bool{}
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
		if cost != costWhole || firsts != whole.Messages+whole.SideMessages || !cmp.Equal(r.sessions[1], whole) {
			t.Fatalf("cut at %d: %d messages for %+v, want %d for %+v", r.end, firsts, cost, whole.Messages+whole.SideMessages, costWhole)
		}
		if len(keys) < whole.Total() {
			t.Fatalf("cut at %d: %d compactions, want %d", r.end, len(keys), whole.Total())
		}
	}
}

// TestEveryOffset guards the promise that a restart repeats nothing and loses
// nothing, wherever the file was cut off when it was read last: one run reads the
// file up to each byte, the next one the completed file.
func TestEveryOffset(t *testing.T) {
	t.Parallel()
	everyOffset(t, claude.Format(), idA+".jsonl", story(60_000), 1)
}

// TestEveryOffsetOfCodex: the same with a transcript of that client.
func TestEveryOffsetOfCodex(t *testing.T) {
	t.Parallel()
	everyOffset(t, codex.Format(nil), codexName, codexStory(t), 3)
}

func everyOffset(t *testing.T, format *transcript.Format, name string, text []byte, step int) {
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

// reader is what a worker reads with, without a loop, and one file.
type reader struct {
	t    *testing.T
	f    *fileReader
	w    *workspace
	out  chan transcript.Change
	path string
	text []byte
}

func newReader(t *testing.T, format *transcript.Format, name string, text []byte) *reader {
	p := &reader{t: t, out: make(chan transcript.Change, 64), path: filepath.Join(t.TempDir(), name), text: text}
	o := Options{Logger: slog.New(slog.DiscardHandler)}
	o.defaults()
	p.f, p.w = &fileReader{Options: o, roots: &rootList{}, out: p.out}, &workspace{buf: make([]byte, 4096)} // lines longer than that are long ones
	p.f.roots.number(format)
	if err := os.WriteFile(p.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// read has the worker read the file and returns what it sends.
func (p *reader) read(from transcript.Cursor, known bool) (changes []transcript.Change) {
	fl := &file{name: idA, cursor: from, known: known}
	fl.cursor.Path = p.path
	r := p.f.read(context.Background(), fl, p.w)
	if r.err != nil {
		p.t.Fatal(r.err)
	}
	p.w.fold = r.fold
	for len(p.out) > 0 {
		changes = append(changes, <-p.out)
	}
	return changes
}

// restart cuts the file at byte k, reads it, completes it, and reads on. It says
// what was wrong.
func (p *reader) restart(k int, want *restart) string {
	must := func(err error) {
		if err != nil {
			p.t.Fatal(err)
		}
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
	if !a.Whole || a.Cursor.Offset != int64(want.end) || !cmp.Equal(a.Session, session) || !slices.Equal(a.Messages, want.messages[0]) || !slices.Equal(a.Compactions, want.events[0]) {
		return "first (-want +got):\n" + cmp.Diff(transcript.Change{
			Cursor: a.Cursor, Name: idA, Whole: true, Session: session, Messages: want.messages[0], Compactions: want.events[0],
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
			return fmt.Sprintf("read anew: %+v", c)
		}
		got.sessions[1] = c.Session
		got.messages[1] = append(got.messages[1], c.Messages...)
		got.events[1] = append(got.events[1], c.Compactions...)
		got.entries = append(got.entries, c.Entries...)
	}
	same := func(a, b transcript.Entry) bool {
		return a.Kind == b.Kind && a.UUID == b.UUID && a.At == b.At && a.Usage == b.Usage && a.Text == b.Text
	}
	if !cmp.Equal(got.sessions[1], want.sessions[1]) || !slices.Equal(got.messages[1], want.messages[1]) || !slices.Equal(got.events[1], want.events[1]) || !slices.EqualFunc(got.entries, want.entries, same) {
		got.end, got.sessions[0], got.messages[0], got.events[0], got.peeked = want.end, want.sessions[0], want.messages[0], want.events[0], want.peeked
		return "second (-want +got):\n" + cmp.Diff(*want, got, cmp.AllowUnexported(restart{}))
	}
	return ""
}

// The same through Run, with cursors and files as they come, at every 1499th byte.
func TestRestarts(t *testing.T) {
	t.Parallel()
	testRestarts(t, claude.Format(), filepath.Join("-p", idA+".jsonl"), story(60_000))
}

// TestRestartsOfCodex: the same with a transcript of that client.
func TestRestartsOfCodex(t *testing.T) {
	t.Parallel()
	testRestarts(t, codex.Format(nil), filepath.Join("2026", "11", "20", codexName), codexStory(t))
}

func testRestarts(t *testing.T, format *transcript.Format, name string, text []byte) {
	all := restarts(format, text)
	for i, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll=%v", poll), func(t *testing.T) {
			t.Parallel()
			next := 0
			for k := 1499 * i / 2; k < len(text); k += 1499 {
				for next+1 < len(all) && all[next+1].end <= k {
					next++
				}
				r := newRig(t)
				r.speaks(format)
				r.o.NoInotify = poll
				path := r.path(name)
				r.append(path, string(text[:k]))
				r.start()
				r.stop()
				r.append(path, string(text[k:]))
				r.start()
				r.settle(fmt.Sprintf("restart at byte %d", k))
				r.stop()
				if r.fresh[path] != len(all[next].entries) || r.whole[path] != 1 {
					t.Fatalf("restart at byte %d: %d entries, want %d; %d whole readings", k, r.fresh[path], len(all[next].entries), r.whole[path])
				}
			}
		})
	}
}
