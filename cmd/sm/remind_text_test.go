package main

import (
	"testing"
	"time"

	"sm/observer/api"
)

func TestWhenARemindersTimeIs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) *time.Time { x := now.Add(d); return &x }
	for want, r := range map[string]api.Reminder{
		"in 10s": {
			DueAt: at(10 * time.Second),
		}, "in 0s": {
			DueAt: at(-5 * time.Second),
		}, "held": {
			DueAt: at(-5 * time.Second),
			State: api.ReminderHeld,
		},
		"soft 3m0s, hard 5m0s": {Soft: 180, Hard: 300},
	} {
		if got := whenText(r, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
