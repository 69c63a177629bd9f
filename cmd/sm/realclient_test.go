//go:build realclient

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealClient makes the real client work in all the ways that change a context, and
// compares what the observer shows with the client's own status line and with the model's
// answers.
func TestRealClient(t *testing.T) {
	r := newWatchedRun(t)
	r.sm.start() // the home is empty: its projects folder is created later
	r.begin(20_000)
	first := r.current
	r.turn("tools", modelStep{
		grow:  10_000,
		tools: 2,
	}, modelStep{
		grow:  1000,
		tools: 1,
	}, modelStep{
		grow: 500,
	})
	r.turn("subagents", modelStep{
		grow:   2000,
		agents: [][]int{{1, 2}, {1}},
	}, modelStep{
		grow:   900,
		agents: [][]int{{1}},
	}, modelStep{
		grow: 700,
	})

	r.prompt(modelStep{
		grow:  5000,
		tools: 1,
	}, modelStep{
		grow:  700,
		tools: 1,
		hold:  true,
	}, modelStep{
		grow:   600,
		agents: [][]int{{2}},
	}, modelStep{
		grow: 400,
	})
	r.held()
	r.agree("within a turn")
	r.restart("within a turn", nil)
	r.restart("the rest of a turn without observer", func() {
		r.stub.letGo()
		r.ended("the rest of a turn without observer")
	})
	r.agree("the rest of a turn without observer")

	r.prompt(modelStep{
		grow:  110_000,
		tools: 1,
	}, modelStep{
		refuse: true,
	}, modelStep{
		grow:  1000,
		tools: 1,
		hold:  true,
	}, modelStep{
		grow: 500,
	})
	r.held()
	r.show("after automatic compaction 1")
	r.stub.letGo()
	r.finish("automatic compaction 1")
	r.prompt(modelStep{refuse: true}, modelStep{grow: 1000, hold: true})
	r.held()
	r.measure("after automatic compaction 2")
	r.restart("at once after automatic compaction 2", nil) // it may not have been stored
	r.show("after automatic compaction 2")
	r.stub.letGo()
	r.finish("automatic compaction 2")
	r.turn("tools after it", modelStep{grow: 60_000, tools: 1}, modelStep{grow: 100})
	r.compact("/compact")
	r.restart("/compact", nil)
	r.turn("tools after /compact", modelStep{grow: 2000, tools: 3}, modelStep{grow: 500})

	r.turn("an error of the API", modelStep{fail: true})
	r.torn(modelStep{
		busy: true,
	}, modelStep{
		grow:  800,
		tools: 1,
		drop:  true,
	}, modelStep{
		grow: 600,
	})
	r.stub.letGo()
	r.finish("a busy API and a broken connection")
	r.torn(modelStep{grow: 3000, cut: true})
	r.home.interrupt()
	r.finish("interrupted")
	r.turn("after the interruption", modelStep{grow: 500, tools: 1}, modelStep{grow: 500})

	old := r.sm.series()[r.series("agent_session_context_tokens")]
	r.home.say("/clear")
	r.follow(r.home.another(first))
	r.stub.resize(15_000)
	r.agree("/clear")
	r.turn("tools after /clear", modelStep{grow: 3000, tools: 1}, modelStep{grow: 500})
	if s := r.sm.byID()[first]; s.State != "left" || s.TokensUsed == nil ||
		float64(*s.TokensUsed) != old {
		t.Errorf(
			"/clear: the old session is %s and has %s tokens, had %v",
			s.State,
			orNone(s.TokensUsed),
			old,
		)
	}

	r.home.quit()
	r.begin(int64(old), "--resume", first)
	if r.current != first {
		t.Errorf("--resume: got session %s, want %s", r.current, first)
	}
	r.turn("--resume", modelStep{grow: 900, tools: 1}, modelStep{grow: 500})
	r.home.quit()
	r.begin(int64(old)+1400, "--resume", first, "--fork-session")
	fork := r.known[r.current]
	r.prompt(modelStep{grow: 900, tools: 1}, modelStep{grow: 500})
	r.ended("--fork-session")
	if fork.copied = len(boundaries(t, r.home.projects, r.current)); fork.copied == 0 {
		t.Error("--fork-session: got no copied compaction in the fork")
	}
	r.agree("--fork-session")
	r.turn("compaction of the fork", modelStep{
		refuse: true,
	}, modelStep{
		grow:  1000,
		tools: 1,
	}, modelStep{
		grow: 500,
	})
	r.home.quit()

	r.headless("headless", 10_000, []modelStep{{
		grow:  700,
		tools: 1,
	}, {
		grow:   500,
		agents: [][]int{{1}},
	}, {
		grow: 300,
	}})
	r.headless("headless --resume", r.known[first].context, []modelStep{{
		grow:  400,
		tools: 1,
	}, {
		grow: 300,
	}}, "--resume", first)
	if r.current != first {
		t.Errorf("headless --resume: got session %s, want %s", r.current, first)
	}

	// This client compacts before the model refuses, and has a larger window.
	r.home.extra = []string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000"}
	r.home.model = "claude-opus-4-8[1m]"
	r.begin(20_000)
	r.restart("compactions without observer", func() {
		r.prompt(modelStep{
			grow:  10_000,
			tools: 1,
		}, modelStep{
			grow:  60_000,
			tools: 1,
		}, modelStep{
			grow:  50_000,
			tools: 2,
		}, modelStep{
			grow: 500,
		})
		r.ended("compactions without observer")
	})
	r.agree("compactions without observer")
	r.home.quit()

	if r.auto < 5 || r.manual != 1 {
		t.Errorf(
			"%d automatic compactions and %d by hand: the client did not do as this test means it to",
			r.auto,
			r.manual,
		)
	}
	r.late()
	eventually(t, "the last client has ended", func() string {
		if r.sm.series()[r.series("agent_session_active")] != 0 {
			return "its session is active"
		}
		return ""
	})
	before := r.sm.lasting()
	r.sm.stop()
	r.sm.start()
	eventually(
		t,
		"the same after an orderly restart",
		func() string { return cmp.Diff(before, r.sm.lasting()) },
	)
}
