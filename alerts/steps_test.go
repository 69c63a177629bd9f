package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// sec returns a moment in seconds after the start of all tests.
func sec(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

const window = 200_000

func newEngine(t testing.TB, change ...func(*Options)) *Engine {
	t.Helper()
	o := Defaults()
	for _, c := range change {
		c(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e.Tick(epoch)
	return e
}

// Events of the agent "a", at a time in seconds.

func seen(name string) Event {
	return Event{
		Kind:   EventSeen,
		Agent:  "a",
		At:     sec(0),
		Parent: "boss",
		Name:   name,
	}
}

func reading(s float64, tokens int64) Event {
	return Event{
		Kind:    EventReading,
		Agent:   "a",
		At:      sec(s),
		Reading: Reading{Tokens: tokens, Window: window, Model: "m"},
	}
}

func sample(s float64, tokens int64) Event {
	ev := reading(s, tokens)
	ev.Source = transcript.FromStatusline
	return ev
}

func preCompact(s float64) Event {
	return Event{
		Kind:    EventCompacting,
		Agent:   "a",
		At:      sec(s),
		Trigger: transcript.Auto,
	}
}

func boundary(s float64, key transcript.Key) Event {
	return Event{
		Kind:      EventCompacted,
		Agent:     "a",
		At:        sec(s),
		Sign:      SignBoundary,
		Trigger:   transcript.Auto,
		PreTokens: 167_000,
		Reading:   Reading{Model: "m", Window: window},
		Key:       key,
	}
}

func hookSign(s float64, sign Sign) Event {
	return Event{
		Kind:    EventCompacted,
		Agent:   "a",
		At:      sec(s),
		Sign:    sign,
		Trigger: transcript.Auto,
	}
}

func reset(s float64, cause Cause, session transcript.Key) Event {
	return Event{
		Kind:  EventReset,
		Agent: "a",
		At:    sec(s),
		Cause: cause,
		Key:   session,
	}
}

func plain(s float64, k EventKind) Event { return Event{Kind: k, Agent: "a", At: sec(s)} }

func active(s float64, on bool) Event {
	return Event{
		Kind:  EventActive,
		Agent: "a",
		At:    sec(s),
		On:    on,
	}
}

// tick is a step in which only time passes.
func tick(s float64) Event { return Event{Kind: 0, At: sec(s)} }

// play steps through events and ticks and returns what was sent, withdrawn and opened, one
// line each. Levels are left out.
func play(e *Engine, events ...Event) []string {
	var got []string
	for _, ev := range events {
		got = append(got, lines(once(e, ev))...)
	}
	return got
}

func once(e *Engine, ev Event) []Action {
	if ev.Kind == 0 {
		actions, _ := e.Tick(ev.At)
		return actions
	}
	return e.Step(ev)
}

func lines(actions []Action) []string {
	var got []string
	for _, act := range actions {
		switch act := act.(type) {
		case Deliver:
			got = append(got, fmt.Sprintf("deliver %s to %s", act.Key, act.To.Role))
		case Withdraw:
			var keys []string
			for _, k := range act.Keys {
				keys = append(keys, k.String())
			}
			got = append(got, "withdraw "+strings.Join(keys, " "))
		case Opened:
			line := fmt.Sprintf("open %d at %.0f %s", act.Cycle, act.At.Sub(epoch).Seconds(), act.Cause)
			if act.Cause == CauseCompaction {
				line += fmt.Sprintf(" %s from %d", act.Trigger, act.PreTokens)
			}
			if act.Unconfirmed {
				line += " unconfirmed"
			}
			if act.Warned {
				line += " warned"
			}
			got = append(got, line)
		}
	}
	return got
}

func check(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// texts returns the texts sent, in order.
func texts(actions []Action) []string {
	var got []string
	for _, act := range actions {
		if s, ok := act.(Deliver); ok {
			got = append(got, s.Text)
		}
	}
	return got
}

// watched has what an engine shows of an agent, and some of its internal state.
type watched struct {
	View
	Parent                 string
	Name                   string
	Cause                  Cause
	Since                  time.Time // of a running compaction, as is Trigger
	Trigger                Trigger
	Turns                  int
	InTurn, Active, Silent bool
}

func view(t *testing.T, e *Engine) watched {
	t.Helper()
	v := e.Agent("a")
	if v.Cycle == 0 {
		t.Fatal("agent a is unknown")
	}
	a := e.agents["a"]
	w := watched{
		View:    v,
		Parent:  a.Parent,
		Name:    a.Name,
		Cause:   a.Cause,
		Trigger: transcript.Unknown,
		Turns:   a.Turns,
		InTurn:  a.InTurn,
		Active:  a.Active,
		Silent:  a.Silent,
	}
	if a.Compacting {
		w.Since = a.Begun.Time()
		w.Trigger = min(a.Trigger, transcript.Unknown)
	}
	return w
}

// stepAll steps through events and ticks and returns all actions.
func stepAll(e *Engine, events ...Event) (all []Action) {
	for _, ev := range events {
		all = append(all, once(e, ev)...)
	}
	return all
}

func instant(s float64) Instant { return transcript.InstantOf(sec(s)) }

// rewind goes back at s to a context of this size; messages received after left are lost.
func rewind(s float64, tokens int64, left float64) Event {
	ev := reset(s, CauseRewind, 0)
	ev.Tokens, ev.Window, ev.Model, ev.Left, ev.Until = tokens, window, "m", instant(left), instant(s-0.5)
	return ev
}
