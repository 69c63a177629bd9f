package fleet

import (
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
)

// TestAtWorkMost tests that of very many sessions with fresh transcripts the newest count as
// at work, and so does each session that a hook or the client's registry has named. At a
// first start the policy gets these, and sessions whose context is not small.
func TestAtWorkMost(t *testing.T) {
	f := New(Options{
		Clients:    clientstest.Table(),
		Thresholds: alerts.Defaults().Thresholds,
	}, Stored{Created: created})
	const many, hooked, listed, high = maxUnconfirmed + 50, 3, 5, 7
	at := func(n int) string { // the first are the oldest
		return created.Add(-time.Minute + time.Duration(n)*time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	}
	for n := range many {
		tokens := 10_000
		if n == high {
			tokens = 110_000
		}
		f.Apply(ofSession(n, reply(at(n), "m"+uuid(n), tokens, 10)).whole())
	}
	reported := map[string]bool{}
	for _, ev := range f.Settle(created).Events {
		reported[ev.Agent] = reported[ev.Agent] || ev.Kind == alerts.EventReading
	}
	if len(reported) != maxUnconfirmed+1 || !reported[uuid(high)] ||
		!reported[uuid(many-1)] ||
		reported[uuid(hooked)] {
		t.Errorf(
			"the policy got %d agents; the high one: %t",
			len(reported),
			reported[uuid(high)],
		)
	}
	f.Hook(&hook.Payload{
		SessionID: uuid(hooked),
		Event:     hook.Stop,
		SM:        hook.Origin{Agent: "em", At: created},
	}, transcript.InstantOf(created))
	f.Clients([]Client{client(7, listed)})
	on := map[string]bool{}
	for _, ev := range f.Activity(created) {
		on[ev.Agent] = ev.On
	}
	if len(on) != maxUnconfirmed+2 || !on["em"] || !on[uuid(listed)] ||
		!on[uuid(many-1)] ||
		on[uuid(0)] {
		t.Errorf(
			"%d are at work; the one with hooks: %t, in the registry: %t",
			len(on),
			on["em"],
			on[uuid(listed)],
		)
	}
	if again := f.Activity(created.Add(time.Second)); len(again) > 0 {
		t.Errorf("%d events without news", len(again))
	}
}
