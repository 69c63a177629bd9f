package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// demoScript is what happens in a demo from its start until a time after that.
func demoScript(start time.Time, d time.Duration) (events []demoEvent) {
	f := newDemoFleet(demoSeed, start)
	for f.peek().Before(start.Add(d)) {
		events = append(events, f.next())
	}
	return events
}

// TestDemoScript: the script is the same each time, runs in order, is never still for long, and somebody compacts in the
// first minute that is seen.
func TestDemoScript(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	events := demoScript(start, demoPast+3*time.Minute)
	if diff := cmp.Diff(events, demoScript(start, demoPast+3*time.Minute)); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
	seen := start.Add(demoPast)
	last, longest := seen, time.Duration(0)
	kinds, sessions := map[demoKind]int{}, map[string]int{}
	compacts := time.Duration(0)
	for i, e := range events {
		if i > 0 && e.At.Before(events[i-1].At) {
			t.Errorf("event %d is older than the one before", i)
		}
		kinds[e.Kind]++
		if seat, ok := sessions[e.Session]; ok && seat != e.Seat {
			t.Errorf("session %s is of two agents", e.Session)
		}
		sessions[e.Session] = e.Seat
		if e.At.Before(seen) {
			continue
		}
		longest, last = max(longest, e.At.Sub(last)), e.At
		if e.Kind == demoCompacted && compacts == 0 {
			compacts = e.At.Sub(seen)
		}
	}
	if longest > 2*time.Second {
		t.Errorf("nothing happens for %v", longest)
	}
	if compacts == 0 || compacts > time.Minute {
		t.Errorf("the first compaction comes after %v", compacts)
	}
	for kind := demoPrompt; kind <= demoSubagent; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("kind %d never happens", kind)
		}
	}
	if a, b := newDemoFleet(1, start), newDemoFleet(2, start); a.next() == b.next() {
		t.Error("another seed changes nothing")
	}
}

// demoSession is what the script knows of a session, in the terms of sm scan.
type demoSession struct {
	Project     string     `json:"project"`
	Context     *int64     `json:"context_tokens"`
	Peak        int64      `json:"peak_context_tokens"`
	Turns       int        `json:"turns"`
	Messages    int        `json:"messages"`
	Compactions demoCounts `json:"compactions"`
	Subagents   struct {
		Messages int `json:"messages"`
	} `json:"subagents"`
	Inherited int `json:"inherited_compactions"`
	Bad       int `json:"bad_lines"`
}

type demoCounts struct {
	Auto    int `json:"auto"`
	Manual  int `json:"manual"`
	Unknown int `json:"unknown"`
}

// demoBooks adds up a script.
func demoBooks(events []demoEvent) map[string]*demoSession {
	books := map[string]*demoSession{}
	for _, e := range events {
		s := books[e.Session]
		if s == nil {
			s = &demoSession{Project: "demo"}
			books[e.Session] = s
		}
		switch e.Kind {
		case demoPrompt:
			s.Turns++
		case demoReply:
			s.Messages++
			s.Context, s.Peak = &e.Context, max(s.Peak, e.Context)
		case demoCompacted:
			s.Context = nil
			if e.Trigger == "auto" {
				s.Compactions.Auto++
			} else {
				s.Compactions.Manual++
			}
		case demoSubagent:
			s.Subagents.Messages++
		}
	}
	return books
}

// demoHooks hears hooks and answers each that takes an answer.
type demoHooks struct{ events []string }

func (h *demoHooks) Hook(_ context.Context, p *hook.Payload) (hook.Answer, error) {
	h.events = append(h.events, string(p.Event)+"("+p.Source+p.Reason+")")
	if p.Event.TakesContext() {
		return hook.Answer{Event: p.Event, Context: "[sm context] Context at 52%. #a1b2c3"}, nil
	}
	return hook.Answer{}, nil
}

// TestDemoTranscripts: sm scan finds in a demo's transcripts what the script says has happened, and no line that is
// not understood.
func TestDemoTranscripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seen, end := start.Add(demoPast), start.Add(demoPast+10*time.Minute)
	p := newDemoPlayer(demoSeed, start, filepath.Join(dir, "projects"), slog.New(slog.DiscardHandler))
	hooks := &demoHooks{}
	if err := os.Mkdir(filepath.Join(dir, "projects"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.past(t.Context(), hooks, seen, filepath.Join(dir, "past")); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(hooks.events, func(e string) bool { return e != "SessionStart(startup)" && e != "SessionStart(clear)" }); i >= 0 {
		t.Errorf("the past calls the hook %s", hooks.events[i])
	}
	for p.fleet.peek().Before(end) {
		if err := p.act(t.Context(), hooks, p.fleet.next()); err != nil {
			t.Fatal(err)
		}
	}
	for _, event := range []string{"SessionEnd(clear)", "SessionStart(clear)", "SessionStart(compact)", "PreCompact()", "UserPromptSubmit()", "PostToolUse()", "Stop()"} {
		if !slices.Contains(hooks.events, event) {
			t.Errorf("hook %s is never called", event)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"scan", "--json", filepath.Join(dir, "projects")}, nil, &out, io.Discard); code != 0 {
		t.Fatalf("sm scan ends with %d", code)
	}
	got := map[string]*demoSession{}
	for d := json.NewDecoder(&out); d.More(); {
		var s struct {
			ID string `json:"session_id"`
			demoSession
		}
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		got[s.ID] = &s.demoSession
	}
	if diff := cmp.Diff(demoBooks(demoScript(start, demoPast+10*time.Minute)), got); diff != "" {
		t.Errorf("(-script +sm scan):\n%s", diff)
	}
}

// TestMissingDirs: what is made for a socket is known, and nothing else.
func TestMissingDirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := []string{filepath.Join(dir, "a", "b"), filepath.Join(dir, "a")}
	if diff := cmp.Diff(want, missingDirs(want[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := missingDirs(dir); got != nil {
		t.Errorf("%v", got)
	}
}
