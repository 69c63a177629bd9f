package demo

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/history"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
)

// scriptUntil is what happens in a demo from its start until a time after that.
func scriptUntil(start time.Time, d time.Duration) (events []event) {
	f := newScript(Seed, start)
	for f.peek().Before(start.Add(d)) {
		events = append(events, f.next())
	}
	return events
}

// TestScript: the script is the same each time, runs in order, is never still
// for long, and somebody compacts in the first minute that is seen.
func TestScript(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	events := scriptUntil(start, Past+3*time.Minute)
	if diff := cmp.Diff(events, scriptUntil(start, Past+3*time.Minute)); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
	seen := start.Add(Past)
	last := seen
	longest := time.Duration(0)
	kinds := map[kind]int{}
	sessions := map[string]int{}
	compacts := time.Duration(0)
	for i, e := range events {
		if i > 0 && e.At.Before(events[i-1].At) {
			t.Errorf("event %d is older than the one before", i)
		}
		kinds[e.Kind]++
		if seat, ok := sessions[e.Session]; ok && seat != e.Agent {
			t.Errorf("session %s is of two agents", e.Session)
		}
		sessions[e.Session] = e.Agent
		if e.At.Before(seen) {
			continue
		}
		longest = max(longest, e.At.Sub(last))
		last = e.At
		if e.Kind == kindCompacted && compacts == 0 {
			compacts = e.At.Sub(seen)
		}
	}
	if longest > 2*time.Second {
		t.Errorf("nothing happens for %v", longest)
	}
	if compacts == 0 || compacts > time.Minute {
		t.Errorf("the first compaction comes after %v", compacts)
	}
	waits := map[int]bool{} // agents with an open dialog
	for _, e := range events {
		if delete(waits, e.Agent); e.Kind == kindAsk {
			waits[e.Agent] = true
		}
		if e.At.After(seen) && e.At.Before(seen.Add(time.Minute)) && len(waits) == 0 {
			t.Errorf("nobody waits for a person %v after the start", e.At.Sub(seen))
		}
	}
	for kind := kindPrompt; kind <= kindAsk; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("kind %d never happens", kind)
		}
	}
	if a, b := newScript(1, start), newScript(2, start); a.next() == b.next() {
		t.Error("another seed changes nothing")
	}
}

// summary is the script's figures of a session.
type summary struct {
	Project          string
	Context          int64
	ContextKnown     bool
	Peak             int64
	Turns, Messages  int
	Auto, Manual     int // compactions
	SubagentMessages int
	Others           int // compactions of unknown trigger, or inherited ones
	Bad              int64
}

// expected adds up a script.
func expected(events []event) map[string]*summary {
	sessions := map[string]*summary{}
	for _, e := range events {
		s := sessions[e.Session]
		if s == nil {
			s = &summary{Project: "demo"}
			sessions[e.Session] = s
		}
		switch e.Kind {
		case kindPrompt:
			s.Turns++
		case kindReply:
			s.Messages++
			s.Context, s.ContextKnown, s.Peak = e.Context, true, max(s.Peak, e.Context)
		case kindCompacted:
			s.Context = 0
			s.ContextKnown = false
			if e.Trigger == "auto" {
				s.Auto++
			} else {
				s.Manual++
			}
		case kindSubagent:
			s.SubagentMessages++
		}
	}
	return sessions
}

// found reads transcripts as sm scan does.
func found(t *testing.T, dir string) map[string]*summary {
	t.Helper()
	f := fleet.New(fleet.Options{Clients: clientstest.Table()}, fleet.Stored{})
	err := history.Transcripts(t.Context(), history.Options{
		Clients: clientstest.Table(),
		Logger:  slog.New(slog.DiscardHandler),
	}, []string{dir}, func(c transcript.Change) { f.Apply(c) })
	if err != nil {
		t.Fatal(err)
	}
	f.Settle(time.Now())
	sessions := map[string]*summary{}
	for _, v := range f.Views(time.Now()) {
		tokens, known := v.Context()
		s := &summary{
			Project:          v.Project,
			ContextKnown:     known,
			Peak:             v.Peak,
			Turns:            v.Turns,
			Messages:         v.Messages,
			SubagentMessages: v.SideMessages,
			Bad:              v.Bad,
			Others:           v.Inherited[0] + v.Inherited[1] + v.Inherited[2],
		}
		if known {
			s.Context = tokens
		}
		s.Auto = v.Compactions[transcript.Auto]
		s.Manual = v.Compactions[transcript.Manual]
		s.Others += v.Compactions[transcript.Unknown]
		sessions[v.SessionID] = s
	}
	return sessions
}

// recorder receives hooks and answers each that takes an answer.
type recorder struct {
	events []string
	bills  map[string]float64 // by session
	used   float64            // of the limit of five hours
	odd    int                // reports by which a total has not grown, or a limit is used less
}

func (h *recorder) Ready() <-chan struct{} { return nil }

func (h *recorder) Hook(_ context.Context, p *hook.Payload) (hook.Answer, error) {
	h.events = append(h.events, string(p.Event)+"("+p.Source+p.Reason+")")
	if p.Event.TakesContext() {
		return hook.Answer{
			Event:   p.Event,
			Context: "[sm context] Context at 52%. #a1b2c3",
		}, nil
	}
	return hook.Answer{}, nil
}

func (h *recorder) Status(_ context.Context, s *hook.Status) error {
	if bill := h.bills[s.SessionID]; s.Cost.TotalUSD.Value <= bill ||
		s.RateLimits.FiveHour.UsedPercentage.Value < h.used ||
		s.RateLimits.SevenDay.UsedPercentage.Value > 100 {
		h.odd++
	}
	h.bills[s.SessionID] = s.Cost.TotalUSD.Value
	h.used = s.RateLimits.FiveHour.UsedPercentage.Value
	return nil
}

// TestTranscripts: a demo's transcripts hold what the script says has happened,
// and no line that cannot be read.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := start.Add(Past)
	end := start.Add(Past + 10*time.Minute)
	p := New(Seed, start, filepath.Join(dir, "projects"), slog.New(slog.DiscardHandler))
	hooks := &recorder{bills: map[string]float64{}}
	if err := os.Mkdir(filepath.Join(dir, "projects"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.observer = hooks
	if err := p.writeHistory(t.Context(), seen, filepath.Join(dir, "past")); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(hooks.events, func(e string) bool {
		return e != "SessionStart(startup)" && e != "SessionStart(clear)" &&
			e != "Notification()"
	}); i >= 0 {
		t.Errorf("the past calls the hook %s", hooks.events[i])
	}
	for p.script.peek().Before(end) {
		if err := p.act(t.Context(), p.script.next()); err != nil {
			t.Fatal(err)
		}
	}
	if len(hooks.bills) < 10 || hooks.odd > 0 {
		t.Errorf("status lines of %d sessions, %d of them odd", len(hooks.bills), hooks.odd)
	}
	for _, event := range []string{
		"SessionEnd(clear)",
		"SessionStart(clear)",
		"SessionStart(compact)",
		"PreCompact()",
		"UserPromptSubmit()",
		"PostToolUse()",
		"Stop()",
		"Notification()",
	} {
		if !slices.Contains(hooks.events, event) {
			t.Errorf("hook %s is never called", event)
		}
	}
	if diff := cmp.Diff(
		expected(scriptUntil(start, Past+10*time.Minute)),
		found(t, filepath.Join(dir, "projects")),
	); diff != "" {
		t.Errorf("(-script +transcripts):\n%s", diff)
	}
}
