package fleet

import (
	"slices"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// TestActivity tests that each change of activity is reported once, and agrees with views.
func TestActivity(t *testing.T) {
	f := settled(
		ofSession(1, prompt(before(1), "p1")),
		ofSession(2, prompt(before(90), "p2")),
		ofSession(3, prompt(before(90), "p3")),
	)
	f.Clients([]Client{client(7, 3)})
	f.Hook(&hook.Payload{
		SessionID: uuid(4),
		Event:     hook.Stop,
		SM:        hook.Origin{Agent: "w", At: created},
	}, transcript.InstantOf(created))
	check := func(what string, now time.Time, want ...string) {
		t.Helper()
		var got, live []string
		for _, ev := range f.Activity(now) {
			name := ev.Agent
			if !ev.On {
				name = "not " + name
			}
			if ev.Kind != alerts.EventActive {
				t.Errorf("%s: %+v", what, ev)
			}
			got = append(got, name)
		}
		diff(t, what, want, got)
		for _, v := range f.Views(now) {
			if v.Live && !v.Left {
				live = append(live, v.Agent.ID)
			}
		}
		for id := range f.active {
			if !slices.Contains(live, id) {
				t.Errorf("%s: %s is at work, but shows otherwise", what, id)
			}
		}
		if len(live) != len(f.active) {
			t.Errorf("%s: %v show as live, %v as at work", what, live, f.active)
		}
	}
	one := uuid(1)
	three := uuid(3)
	first := []string{one, three, "w"}
	slices.Sort(first)
	check("at first", created, first...)
	check("again", created.Add(time.Second))
	f.Clients(nil)
	check("a client has ended", created.Add(time.Minute), "not "+three)
	gone := []string{one, "w"}
	slices.Sort(gone)
	check("much later", created.Add(time.Hour), "not "+gone[0], "not "+gone[1])
}

// TestBoundaryAfterItsSummary tests that a compaction that was found by its summary first is
// reported again when its boundary names it, under the same key.
func TestBoundaryAfterItsSummary(t *testing.T) {
	f := settled()
	p := ofSession(1, reply(after(1), "m1", 90_000, 10))
	f.Apply(p.whole())
	var keys []transcript.Key
	opened := func(n Update) (live, history int) {
		for _, ev := range n.Events {
			switch {
			case ev.Kind != alerts.EventCompacted:
			case ev.History:
				history++
			default:
				keys = append(keys, ev.Key)
				live++
			}
		}
		return live, history
	}
	first := summary(after(2), "s1", "b1", "It went so.")
	if live, history := opened(f.Apply(p.add(first).grown())); live != 1 || history != 0 {
		t.Errorf("the summary: %d, and %d of the past", live, history)
	}
	if live, history := opened(f.Apply(p.add(boundary(
		after(2),
		"b1",
		"auto",
		90_000,
	)).grown())); live != 1 ||
		history != 0 {
		t.Errorf("its boundary: %d, and %d of the past", live, history)
	}
	if live, _ := opened(f.Apply(p.add(boundary(
		after(9),
		"b2",
		"auto",
		90_000,
	)).grown())); live != 1 {
		t.Errorf("another: %d", live)
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("keys %v", keys)
	}
}
