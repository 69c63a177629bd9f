package follow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/claude"
)

// rig runs a follower and keeps the newest change of each file.
type rig struct {
	t      *testing.T
	root   string
	o      Options
	out    chan transcript.Change
	cancel context.CancelFunc
	ended  chan struct{}
	files  map[string]transcript.Change
	fresh  map[string]int // entries reported as new
	whole  map[string]int // whole readings
	caught bool
	log    logged
	level  slog.Level // of the records kept
	format *transcript.Format
}

// logged keeps log records.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(strings.Lines(l.text.String()))
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t:      t,
		root:   filepath.Join(t.TempDir(), "projects"),
		files:  map[string]transcript.Change{},
		fresh:  map[string]int{},
		whole:  map[string]int{},
		format: claude.Format(),
	}
	noErrors(t, os.MkdirAll(r.root, 0o700))
	r.o = Options{
		Roots:  []Root{{r.root, claude.Format()}},
		Check:  50 * time.Millisecond,
		Rescan: time.Second,
	}
	return r
}

func (r *rig) start() {
	r.launch()
	r.until("caught up", func() bool { return r.caught })
}

// launch starts the follower without receiving changes.
func (r *rig) launch() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.cancel = cancel
	r.ended = make(chan struct{})
	r.out = make(chan transcript.Change)
	r.caught = false
	r.o.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(
		r.t.Output(),
		&r.log,
	), &slog.HandlerOptions{
		Level: r.level,
	}))
	var from []transcript.Cursor
	for _, c := range r.files {
		from = append(from, c.Cursor)
	}
	out := r.out
	ended := r.ended
	go func() {
		defer close(ended)
		Run(ctx, r.o, from, out)
	}()
}

// stop ends the follower; changes that it still sends are lost, as in a kill.
func (r *rig) stop() {
	r.cancel()
	for {
		select {
		case <-r.out:
		case <-r.ended:
			return
		}
	}
}

// patience bounds the wait for an event: with the race detector and other load a sweep over
// many files takes a minute. A test that passes never waits so long.
const patience = 2 * time.Minute

// until receives changes until the condition holds; it fails after far more than two seconds,
// since machines are busy.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	timeout := time.After(patience)
	for !holds() {
		select {
		case c := <-r.out:
			r.take(c)
		case <-timeout:
			r.t.Fatalf("timeout waiting for: %s", what)
		}
	}
}

// hold waits until the files have this number of lines.
func (r *rig) hold(what string, lines map[string]int64) {
	r.t.Helper()
	r.until(what, func() bool {
		for path, n := range lines {
			if r.files[path].Session.Lines != n {
				return false
			}
		}
		return true
	})
}

// registered waits for a list of registered clients.
func (r *rig) registered(
	lists <-chan []transcript.Client,
	what string,
	holds func([]transcript.Client) bool,
) {
	r.t.Helper()
	timeout := time.After(patience)
	var got []transcript.Client
	for {
		select {
		case got = <-lists:
			if holds(got) {
				return
			}
		case c := <-r.out:
			r.take(c)
		case <-timeout:
			r.t.Fatalf("waited in vain: %s; got %+v", what, got)
		}
	}
}

// idle receives changes for a time without expected changes.
func (r *rig) idle(d time.Duration) {
	end := time.After(d)
	for {
		select {
		case c := <-r.out:
			r.take(c)
		case <-end:
			return
		}
	}
}

func (r *rig) take(c transcript.Change) {
	switch {
	case c.CaughtUp:
		r.caught = true
		return
	case c.Gone:
		delete(r.files, c.Cursor.Path)
		return
	case c.From != "":
		delete(r.files, c.From)
	}
	if c.Whole {
		r.whole[c.Cursor.Path]++
	}
	r.fresh[c.Cursor.Path] += len(c.Entries)
	c.Entries = nil
	c.Messages = nil
	c.Compactions = nil
	r.files[c.Cursor.Path] = c
}

func (r *rig) path(elem ...string) string {
	return filepath.Join(append([]string{r.root}, elem...)...)
}

// numbered returns the path of one of many transcripts.
func (r *rig) numbered(n int) string {
	return r.path("-p", fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n))
}

func (r *rig) write(path, text string, flag int) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		file.Close()
	}
	r.must(err)
}

func (r *rig) append(path, text string) { r.t.Helper(); r.write(path, text, os.O_APPEND) }

// speaks makes the rig follow the transcripts of another client.
func (r *rig) speaks(format *transcript.Format) {
	r.format, r.o.Roots = format, []Root{{r.root, format}}
}

// truth folds a file's present content; ok is false if it cannot be read or unpacked.
func truth(format *transcript.Format, path string) (session transcript.Session, ok bool) {
	b, err := textOf(format, path)
	if err != nil {
		return transcript.Session{}, false
	}
	id, _ := format.Identify(path)
	f := format.NewFold(id)
	var e transcript.Entry
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			s, _ := shown(f, line)
			return s, true
		}
		f.Line(line, len(line)+1, &e)
		b = rest
	}
}

// textOf returns the content of a file, unpacked.
func textOf(format *transcript.Format, path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil || format.Content == nil {
		return b, err
	}
	text := format.Content(context.Background(), path, bytes.NewReader(b), int64(len(b)))
	if text == nil {
		return b, nil
	}
	return io.ReadAll(io.NewSectionReader(text, 0, text.Size()))
}

// right reports whether the follower's sessions agree with the files.
func (r *rig) right() bool { return r.wrong() == "" }

func (r *rig) wrong() string {
	want := map[string]transcript.Session{}
	broken := map[string]bool{}
	err := filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		if _, ok := r.format.Identify(path); ok && err == nil && d.Type().IsRegular() {
			s, ok := truth(r.format, path)
			if want[path] = s; !ok { // its last session still counts
				delete(want, path)
				broken[path] = true
			}
		}
		return nil
	})
	r.must(err)
	got := map[string]transcript.Session{}
	for path, c := range r.files {
		if !broken[path] {
			got[path] = c.Session
		}
	}
	return cmp.Diff(want, got)
}

func (r *rig) settle(what string) {
	r.t.Helper()
	timeout := time.After(patience)
	for !r.right() {
		select {
		case c := <-r.out:
			r.take(c)
		case <-timeout:
			r.t.Fatalf("%s: still wrong (-want +got):\n%s", what, r.wrong())
		}
	}
}

func reply(n, tokens int) string {
	return fmt.Sprintf(
		`{"type":"assistant","uuid":"u%d","timestamp":"2026-11-20T08:00:%02d.%03dZ","version":"2.1.197","message":{"id":"m%d","model":"claude-sonnet-4-5","usage":{"input_tokens":%d,"output_tokens":5}}}`+"\n",
		n,
		n/1000%60,
		n%1000,
		n,
		tokens,
	)
}

const (
	idA = "11111111-1111-4111-8111-111111111111"
	idB = "22222222-2222-4222-8222-222222222222"
)

func modes(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll=%v", poll), func(t *testing.T) {
			r := newRig(t)
			r.o.NoInotify = poll
			t.Parallel()
			test(t, r)
			r.stop()
		})
	}
}

func TestEvents(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		a := r.path("-p", idA+".jsonl")
		r.append(a, reply(1, 100))
		r.start()
		r.settle("history")
		r.append(a, reply(2, 200))
		r.settle("append")
		r.append(a, reply(3, 300)[:40])
		r.append(a, reply(3, 300)[40:])
		r.settle("half lines")
		r.append(a, strings.TrimSuffix(reply(4, 400), "\n"))
		r.settle("whole line without newline")
		r.append(a, "\n")
		r.append(r.path("-q", idB+".jsonl"), reply(1, 7))
		r.append(r.path("-q", idB, "subagents", "agent-x.jsonl"), reply(1, 9))
		r.settle("new project, session and subagent")
		if got := r.files[r.path(
			"-q",
			idB,
			"subagents",
			"agent-x.jsonl",
		)].Parent; got != idB {
			t.Errorf("parent %q", got)
		}
		if r.fresh[a] != 3 || r.whole[a] != 1 {
			t.Errorf(
				"%d entries, %d whole readings of the first file",
				r.fresh[a],
				r.whole[a],
			)
		}
		r.write(a, reply(9, 1), os.O_TRUNC)
		r.settle("truncated and rewritten, shorter")
		r.write(
			a,
			reply(10, 1)+reply(11, 2)+reply(12, 3)+reply(13, 4)+reply(14, 5)+reply(15, 6),
			os.O_TRUNC,
		)
		r.settle("rewritten in place, longer")
		r.append(a, reply(20, 8))
		r.settle("append after that")
		tmp := r.path("-p", "tmp")
		r.write(tmp, reply(30, 1)+reply(31, 2), os.O_TRUNC)
		noErrors(t, os.Rename(tmp, a))
		r.settle("renamed over")
		r.append(a, reply(32, 9))
		r.settle("append after the rename")
		moved := r.path("-z", idA+".jsonl")
		noErrors(t, os.Mkdir(r.path("-z"), 0o700), os.Rename(a, moved))
		r.settle("moved")
		r.append(moved, reply(33, 10))
		r.settle("append after the move")
		noErrors(t, os.Remove(moved))
		r.settle("deleted")
		r.append(moved, reply(40, 11))
		r.settle("made again")
		noErrors(t, os.RemoveAll(r.root))
		r.settle("all deleted")
		r.append(a, reply(50, 12))
		r.settle("all made again")
	})
}
