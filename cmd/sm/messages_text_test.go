package main

import (
	"strings"
	"testing"
	"time"

	"sm/deploy/doctor"
	"sm/observer/api"
)

// TestMessagesSayWhatWaitsForHooks: in the table, and below it with what to do.
func TestMessagesSayWhatWaitsForHooks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	list := []api.Message{
		{ID: "a1b2c3", To: "w1", Mode: "sequential", Status: "waiting", MadeAt: now, Text: "x", WaitsFor: api.WaitsForHooks},
		{ID: "d4e5f6", To: "w1", Mode: "sequential", Status: "waiting", MadeAt: now, Text: "y"},
	}
	for _, c := range []struct {
		list []api.Message
		want bool
	}{{list, true}, {list[1:], false}} {
		var out strings.Builder
		if err := writeMessages(&out, c.list, now, false, 80); err != nil {
			t.Fatal(err)
		}
		says := strings.Contains(out.String(), "waiting for hooks") && strings.Contains(out.String(), "1 wait for hooks: ") && strings.Contains(out.String(), doctor.HooksRemedy)
		if says != c.want || !c.want && strings.Contains(out.String(), "hooks") {
			t.Errorf("%d messages:\n%s", len(c.list), &out)
		}
	}
}

func TestWhenARemindersTimeIs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) *time.Time { x := now.Add(d); return &x }
	for want, r := range map[string]api.Reminder{
		"in 10s": {DueAt: at(10 * time.Second)}, "in 0s": {DueAt: at(-5 * time.Second)}, "held": {DueAt: at(-5 * time.Second), State: api.ReminderHeld},
		"soft 3m0s, hard 5m0s": {Soft: 180, Hard: 300},
	} {
		if got := whenText(r, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
