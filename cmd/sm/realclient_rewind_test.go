//go:build realclient

package main

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rewind goes back by a number of prompts, as a user does with Esc Esc, to where the context
// had that size; 0 is the beginning.
func (r *policyRun) rewind(what string, prompts int, tokens int64) {
	r.t.Helper()
	shows := func(text string) {
		r.t.Helper()
		eventually(r.t, what+": the screen shows "+text, func() string {
			if !strings.Contains(r.home.screen(), text) {
				return "it does not"
			}
			return ""
		})
	}
	opened := time.Now()
	r.keys("Escape", "Escape")
	eventually(r.t, what+": the list of prompts", func() string {
		if strings.Contains(r.home.screen(), "(current)") {
			return ""
		}
		if time.Since(opened) > 3*time.Second { // the client was not ready
			r.keys("Escape", "Escape")
			opened = time.Now()
		}
		return "it is not there"
	})
	for range prompts {
		before := r.home.screen()
		pressed := time.Time{}
		eventually(r.t, what+": the mark in the list moves", func() string {
			if r.home.screen() != before {
				return ""
			}
			if time.Since(pressed) > 2*time.Second { // a list that has just opened may ignore a key
				r.keys("Up")
				pressed = time.Now()
			}
			return "it does not"
		})
	}
	r.keys("Enter")
	shows("Restore conversation")
	r.keys("Enter")
	r.stub.goBack(tokens)
	r.agree(what)
	eventually(r.t, what+": the box is empty", func() string { // the prompt is put back into it
		input, ok := r.home.input()
		if input != "" {
			r.keys("C-u")
		}
		if !ok || input != "" || !strings.Contains(r.home.screen(), "ctrl+y to paste") {
			return input
		}
		return ""
	})
}

// TestRealClientRewind goes back in a conversation with earlier notices: the observer shows
// what the status line shows, at once and with the next prompt, and repeats exactly the
// notices that the agent has lost.
func TestRealClientRewind(t *testing.T) {
	r := newPolicyRun(t)
	r.begin(20_000)
	end := modelStep{grow: 1000}
	r.turn("to 15 %", modelStep{grow: 10_000})
	r.turn("to 21 %", modelStep{grow: 10_000, tools: 2}, end)
	r.turn("to 71 %", modelStep{grow: 100_000, tools: 2}, end)
	r.saidSoFar("to 71 %", 0, 1)

	r.rewind("back to 21 %", 1, 41_000)
	if s := r.me(); s.ContextSource != "statusline" || s.Level != "ok" || s.Cycle != 1 {
		t.Errorf("rewound: source %s, level %s, cycle %d", s.ContextSource, s.Level, s.Cycle)
	}
	r.turn("on to 22 %", modelStep{grow: 1000, tools: 1}, end)
	if s := r.me(); s.ContextSource != "transcript" || s.Cycle != 2 {
		t.Errorf("continued: source %s, cycle %d", s.ContextSource, s.Cycle)
	}
	r.turn("to 55 %", modelStep{grow: 66_000, tools: 2}, end)
	r.turn("to 56 %", end)
	r.saidSoFar("to 56 %", 1, 1)
	point := r.context()
	r.turn("to 82 %", modelStep{grow: 52_000, tools: 3}, end)
	r.saidSoFar("to 82 %", 1, 2)

	// The warning is before the point, the critical notice after it.
	r.rewind("back to 56 %", 1, point)
	r.turn("on to 57 %", modelStep{grow: 500, tools: 1}, end)
	r.turn("to 58 %", end)
	r.saidSoFar("to 58 %", 1, 2)
	r.turn("to 83 %", modelStep{grow: 50_000, tools: 3}, end)
	r.saidSoFar("to 83 %", 1, 3)

	r.rewind("back to the beginning", 8, 0)
	r.turn("on to 11 %", modelStep{grow: 1000, tools: 1}, end)
	if s := r.me(); s.Cycle != 4 {
		t.Errorf("at the beginning: cycle %d", s.Cycle)
	}
	if n := r.me().Compactions.Total(); n != 0 {
		t.Errorf("%d compactions, want none", n)
	}
}

// saidSoFar compares all notices that the agent has received with these numbers.
func (r *policyRun) saidSoFar(what string, warnings, criticals int) {
	r.t.Helper()
	want := map[string]int{"warning": warnings, "critical": criticals}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(want, r.kinds()); diff != "" {
		r.t.Errorf("%s: received texts (-want +got):\n%s", what, diff)
	}
}
