//go:build realclient

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// rewind goes back by a number of prompts, as a user does with Esc Esc, to where the context
// had that size.
func (r *codexRun) rewind(what string, prompts int, tokens int64) {
	r.t.Helper()
	keys := func(keys ...string) {
		r.home.do(
			"",
			append([]string{"send-keys", "-t", "agent"}, keys...)...,
		)
	}
	pressed := time.Time{}
	eventually(r.t, what+": the list of prompts", func() string {
		screen := r.home.screen()
		if strings.Contains(screen, "↵ rewind") {
			return ""
		}
		if time.Since(pressed) > 5*time.Second ||
			strings.Contains(screen, "esc again to edit") &&
				time.Since(pressed) > time.Second {
			keys("Escape")
			pressed = time.Now()
		}
		return screen
	})
	for range prompts - 1 {
		keys("Left")
	}
	keys("Enter")
	eventually(r.t, what+": the prompt is back in the box", func() string {
		if input, _ := r.home.input(); input != "Go on." {
			return r.home.screen()
		}
		return ""
	})
	keys("C-u")
	r.stub.goBack(r.current, tokens)
	r.killed()
	r.agree(what)
}

// TestRealCodexRewind goes back in a thread, which continues in another file each time, also
// before a compaction: the observer shows what /status shows, does not count copies or
// records after the point again, and keeps the agent.
func TestRealCodexRewind(t *testing.T) {
	r := newCodexRun(t)
	r.kills = 24
	r.begin()
	first := r.current
	r.turn("to 35 000", modelStep{grow: 20_000})
	r.turn("to 55 000", modelStep{grow: 10_000, tools: 1}, modelStep{grow: 10_000})
	r.turn("to 75 000", modelStep{grow: 20_000})
	before := r.agent()
	// same checks that the agent continues in the thread, whose conversation has this number
	// of prompts in this number of files.
	same := func(prompts, files int) {
		t.Helper()
		if n := r.stub.times("Go on."); n != prompts {
			t.Errorf("the model got %d prompts, want %d", n, prompts)
		}
		if all := r.home.rollouts(first); len(all) != files {
			t.Errorf("the thread is in %q, want %d files", all, files)
		}
		if now := r.agent(); r.current != first || now.ID != before.ID ||
			now.Label != before.Label {
			t.Errorf("agent before %+v, now %+v", before, now)
		}
	}
	r.rewind("back by a prompt", 1, 55_000)
	r.turn("on to 56 000", modelStep{grow: 500, tools: 1}, modelStep{grow: 500})
	same(3, 2)
	r.rewind("back by two", 2, 35_000)
	r.turn("on to 40 000", modelStep{grow: 5000})
	same(2, 3)

	r.fills("automatic compaction", 245_000)
	r.rewind("back before the compaction", 2, 40_000)
	r.turn("on to 41 000", modelStep{grow: 1000})
	same(3, 4)
	r.fills("automatic compaction of what was rewound", 245_000)
	r.compact("/compact")
	r.turn("after /compact", modelStep{grow: 900, tools: 1}, modelStep{grow: 300})
	eventually(t, "the cycles", func() string {
		if s := r.agent(); s.Cycle != 7 { // after three rewinds and three compactions
			return fmt.Sprint(s.Cycle)
		}
		return ""
	})
	if threads, _ := r.stub.said(); threads[first].Auto != 2 || threads[first].Manual != 1 {
		t.Errorf("unexpected compactions: %+v", threads[first])
	}
	r.home.quit()

	r.begin("resume", first)
	r.turn("resumed", modelStep{grow: 900})
	before = r.agent() // another pane, of another server
	same(7, 4)         // compactions keep the prompts
	r.home.quit()
	for ; r.kills > 0; r.killed() {
	}
	eventually(t, "all figures at the end", r.wrong)
	if s := r.sm.byID(); len(s) != 1 {
		t.Errorf("%d sessions: %+v", len(s), s)
	}
	t.Logf("FIGURES: %d displays of the client agree", r.shown)
}
