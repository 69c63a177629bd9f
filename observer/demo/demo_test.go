package demo

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
	"sm/transcript/wording"
)

// seen is the start of the demo in these tests.
var seen = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// scriptUntil returns the events of a demo until a time after its start.
func scriptUntil(d time.Duration) (events []event) {
	f := newScript(seen)
	for f.peek().Before(seen.Add(d)) {
		events = append(events, f.next())
	}
	return events
}

// TestScript tests that the script is the same each time, in order and without long pauses.
// In the first minute an agent compacts and another hands over, and there is always one that
// waits for a person. In an hour none compacts in a storm.
func TestScript(t *testing.T) {
	t.Parallel()
	events := scriptUntil(time.Hour)
	if diff := cmp.Diff(events, scriptUntil(time.Hour)); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
	early := map[kind]int{}           // of the first minute
	compacts := map[int][]time.Time{} // automatically
	waits := map[int]bool{}           // agents with an open dialog
	for i, e := range events {
		if i > 0 && e.At.Before(events[i-1].At) {
			t.Errorf("event %d is older than the one before", i)
		}
		if delete(waits, e.Agent); e.Kind == kindAsk {
			waits[e.Agent] = true
		}
		if e.Kind == kindCompacted && e.Trigger == "auto" {
			times := append(compacts[e.Agent], e.At)
			if n := len(times); n > 2 && e.At.Sub(times[n-3]) < 30*time.Minute {
				t.Errorf("agent %d compacts in a storm: %v", e.Agent, times)
			}
			compacts[e.Agent] = times
		}
		switch d := e.At.Sub(seen); {
		case d < 0:
			continue
		case d < time.Minute:
			early[e.Kind]++
			if len(waits) == 0 {
				t.Errorf("no agent waits for a person %v after the start", d)
			}
		}
		if still := e.At.Sub(events[i-1].At); still > 8*time.Second {
			t.Errorf("nothing happens for %v", still)
		}
	}
	if early[kindCompacted] == 0 || early[kindHandoff] == 0 {
		t.Errorf("in the first minute: %v", early)
	}
}

// expected adds up a script.
func expected(events []event) map[string]*transcript.Session {
	sessions := map[string]*transcript.Session{}
	for _, e := range events {
		s := sessions[e.Session]
		if s == nil {
			s = &transcript.Session{Model: Load().Agents[e.Agent].Model}
			sessions[e.Session] = s
		}
		switch e.Kind {
		case kindPrompt:
			s.Turns++
		case kindReply:
			s.Messages++
			s.Tokens = s.Tokens.Plus(e.Usage())
			s.Reading.Tokens = e.Context
			s.Peak = max(s.Peak, e.Context)
		case kindCompacted:
			trigger := transcript.Auto
			if e.Trigger == "manual" {
				trigger = transcript.Manual
			}
			s.Compactions[trigger]++
		case kindSubagent:
			s.SideMessages++
			s.SideTokens = s.SideTokens.Plus(e.Usage())
		}
	}
	return sessions
}

// found reads transcripts as sm scan does.
func found(t *testing.T, dirs ...string) map[string]*transcript.Session {
	t.Helper()
	f := fleet.New(fleet.Options{Clients: clientstest.Table()}, fleet.Stored{})
	err := history.Transcripts(t.Context(), history.Options{
		Clients: clientstest.Table(),
		Logger:  slog.New(slog.DiscardHandler),
	}, dirs, func(c transcript.Change) { f.Apply(c) })
	if err != nil {
		t.Fatal(err)
	}
	f.Settle(time.Now())
	sessions := map[string]*transcript.Session{}
	for _, v := range f.Views(time.Now()) {
		if v.Bad > 0 || v.Title == "" {
			t.Errorf("%s: %d bad lines, title %q", v.Path, v.Bad, v.Title)
		}
		s := &transcript.Session{
			Model: v.Model,
			Peak:  v.Peak,
			Turns: v.Turns,
			Sums:  v.Sums,
		}
		s.Reading.Tokens = v.Reading.Tokens
		sessions[v.SessionID] = s
	}
	return sessions
}

// recorder receives hooks and answers each that expects an answer.
type recorder struct {
	events []string
	bills  map[string]float64 // by session
	odd    int                // reports by which a total has not grown
	asked  int                // handoffs
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
	if h.bills[s.SessionID] > s.Cost.TotalUSD.Value {
		h.odd++
	}
	h.bills[s.SessionID] = s.Cost.TotalUSD.Value
	return nil
}

func (h *recorder) Handoff(
	_ context.Context,
	_ string,
	in api.NewHandoff,
	_ []fleet.Process,
) (string, error) {
	_, err := handoff.Examine(in.Path, time.Time{}, 1<<20)
	h.asked++
	return "ro-1", err
}

func (h *recorder) NextInstruction(
	context.Context, string, api.Run, []fleet.Process,
) (api.Instruction, error) {
	return api.Instruction{Rotation: "ro-1", Prompt: wording.Resume("/handoff.md")}, nil
}

// TestTranscripts tests that a demo's transcripts contain the events of the script, and no
// unreadable line.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	p := New(seen, dir, slog.New(slog.DiscardHandler))
	hooks := &recorder{bills: map[string]float64{}}
	p.observer = hooks
	if err := p.writeHistory(ctx, seen); err != nil {
		t.Fatal(err)
	}
	beside.Go(func() { p.supervise(ctx, "billing") })
	for p.script.peek().Before(seen.Add(13 * time.Minute)) {
		if err := p.act(ctx, p.script.next()); err != nil {
			t.Fatal(err)
		}
	}
	if len(hooks.bills) < 10 || hooks.odd > 0 || hooks.asked == 0 {
		t.Errorf("%d sessions report costs, %d fall; %d handoffs",
			len(hooks.bills), hooks.odd, hooks.asked)
	}
	for _, event := range []string{
		"SessionEnd(clear)",
		"SessionStart(clear)",
		"SessionStart(compact)",
		"PreCompact()",
		"PostCompact()",
		"UserPromptSubmit()",
		"PostToolUse()",
		"Stop()",
		"Notification()",
	} {
		if !slices.Contains(hooks.events, event) {
			t.Errorf("hook %s is never called", event)
		}
	}
	claude, codex := Dirs(dir)
	if diff := cmp.Diff(expected(scriptUntil(13*time.Minute)), found(t, claude, codex)); diff != "" {
		t.Errorf("(-script +transcripts):\n%s", diff)
	}
}
