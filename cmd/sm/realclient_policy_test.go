//go:build realclient

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// TestRealClientPolicyOnceACycle fills one session several times.
func TestRealClientPolicyOnceACycle(t *testing.T) {
	r := newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker", "SM_PARENT_ID=em", "SM_NAME=web")
	if _, err := r.sm.api.Register(t.Context(), api.Registration{ID: "em"}); err != nil {
		t.Fatal(err)
	}
	r.begin(20_000)
	compact := modelStep{refuse: true}
	end := modelStep{grow: 1000}
	r.turn("to 31 %", modelStep{grow: 40_000, tools: 2}, end)
	r.turn("to 52 %", modelStep{grow: 42_000, tools: 1}, end)
	r.once("to 52 %", "a1 warning")
	r.turn("to 54 %", modelStep{grow: 3000, tools: 2}, end)
	r.turn("to 67 %", modelStep{grow: 25_000, tools: 3}, end)
	r.once("to 67 %", "a1 warning", "a1 critical")
	r.turn("to 80 %", modelStep{grow: 25_000, tools: 3}, end)
	r.compactions("before any", 0, 0)
	r.turn("automatic compaction", modelStep{
		grow:  5000,
		tools: 1,
	}, compact, modelStep{
		grow:  5000,
		tools: 3,
	}, end)
	r.compactions("automatic compaction", 1, 0)
	r.once("automatic compaction", "a1 warning", "a1 critical")

	r.turn("cycle 2 to 53 %", modelStep{grow: 70_000, tools: 2}, end)
	r.once("cycle 2 to 53 %", "a1 warning", "a1 critical", "a2 warning")
	r.turn("cycle 2 to 68 %", modelStep{
		grow:  28_000,
		tools: 2,
	}, modelStep{
		grow:  500,
		tools: 1,
	}, end)
	r.turn("compaction at once", compact, end)
	r.compactions("compaction at once", 2, 0)

	// A warning waits for the end of the turn, which comes after the compaction.
	r.prompt(modelStep{
		grow:  75_000,
		tools: 1,
	}, modelStep{
		grow:  500,
		tools: 1,
		hold:  true,
	}, compact, modelStep{
		grow:  500,
		tools: 2,
	}, end)
	r.held()
	late := []string{r.noticed("warning", "waiting").ID}
	r.stub.letGo()
	r.ended("compaction before the end")
	r.agree("compaction before the end")
	r.compactions("compaction before the end", 3, 0)
	r.turn("cycle 4, low", modelStep{grow: 500, tools: 2}, end)

	// A critical notice waits at the prompt after an interruption.
	r.turn("cycle 4 to 53 %", modelStep{grow: 70_000, tools: 2}, end)
	r.torn(modelStep{grow: 30_000, cut: true})
	r.home.interrupt()
	r.agree("cycle 4, interrupted")
	late = append(late, r.noticed("critical", "waiting").ID)
	r.compact()
	r.turn("cycle 5, low", modelStep{grow: 500, tools: 2}, end)
	r.compactions("/compact", 3, 1)
	r.turn("cycle 5 to 67 % at once", modelStep{
		grow:  102_000,
		tools: 2,
	}, modelStep{
		grow:  500,
		tools: 1,
	}, end)
	r.turn("cycle 5, more", modelStep{grow: 5000, tools: 2}, end)

	r.once(
		"at the end",
		"a1 warning",
		"a1 critical",
		"a2 warning",
		"a2 critical",
		"a4 warning",
		"a5 critical",
	)
	for _, id := range late {
		if m, _ := r.message(id); m.Status != "withdrawn" || r.stub.gotMessage(id) {
			t.Errorf("notice of an earlier cycle: the model got it: %v, %+v", r.stub.gotMessage(id), m)
		}
	}
}

// compactions compares the figures and the parent's messages with the transcript's
// boundaries.
func (r *policyRun) compactions(what string, auto, manual int) {
	r.t.Helper()
	want := api.Compactions{Auto: auto, Manual: manual}
	var made api.Compactions
	for _, b := range boundaries(r.t, r.home.projects, r.current) {
		if b.Metadata.Trigger == "manual" {
			made.Manual++
		} else {
			made.Auto++
		}
	}
	if made != want {
		r.t.Errorf("%s: %+v boundaries in the transcript, want %+v", what, made, want)
	}
	r.compacted(what, want, want)

	var keys, wanted []string
	for _, m := range r.messages(func(m api.Message) bool {
		return m.To == "em" &&
			m.Kind == "compacted"
	}) {
		keys = append(keys, m.Key)
	}
	for i := range want.Total() {
		wanted = append(wanted, fmt.Sprintf("%s/%d/compacted", r.agent, i+2))
	}
	if diff := cmp.Diff(wanted, keys); diff != "" {
		r.t.Errorf("%s: messages to the parent (-want +got):\n%s", what, diff)
	}
}

// TestRealClientPolicySubagent crosses the thresholds while subagents work: their hooks get
// nothing.
func TestRealClientPolicySubagent(t *testing.T) {
	r := newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker")
	r.begin(20_000)
	var want []string
	for cycle := 1; cycle <= 3; cycle++ {
		r.turn("subagents to 52 %", modelStep{
			grow:   103_000 - r.context(),
			agents: [][]int{{1, 1}, {2}},
		}, modelStep{
			grow: 500,
		})
		r.turn("subagents to 66 %", modelStep{
			grow:   28_000,
			agents: [][]int{{2, 1, 1}, {1, 3}, {}},
		}, modelStep{
			grow:  500,
			tools: 1,
		}, modelStep{
			grow: 500,
		})
		want = append(
			want,
			fmt.Sprintf("a%d warning", cycle),
			fmt.Sprintf("a%d critical", cycle),
		)
		r.once("subagents", want...)
		r.compact()
	}
	if n := r.sm.series()[`sm_hook_events_total{event="PostToolUse"}`]; n != 3*(6+12) {
		t.Errorf("%v hooks of 18 tool calls in 3 cycles, 12 of them by subagents", n)
	}
	for _, m := range r.messages(nil) {
		if m.Offers != 1 || m.Status != "confirmed" {
			t.Errorf("offered to a subagent: %+v", m)
		}
	}
}

// TestRealClientPolicyClear follows an agent through /clear, --resume, --fork-session and a
// client that its own Bash tool starts: by its name, and by its pane.
func TestRealClientPolicyClear(t *testing.T) {
	t.Run("pane", func(t *testing.T) { testPolicyClear(t) })
	t.Run(
		"name",
		func(t *testing.T) { testPolicyClear(t, "CLAUDE_SESSION_MANAGER_ID=worker") },
	)
}

func testPolicyClear(t *testing.T, vars ...string) {
	r := newPolicyRun(t, vars...)
	r.begin(20_000)
	label := r.me().Label
	end := modelStep{grow: 500}
	first := r.current
	same := func(what string, cycle int) {
		t.Helper()
		r.agree(what)
		s := r.me()
		if s.Label != label || s.Cycle != cycle {
			t.Errorf(
				"%s: label %q, was %q; cycle %d, wanted %d",
				what,
				s.Label,
				label,
				s.Cycle,
				cycle,
			)
		}
		infos := 0
		for series := range r.sm.series() {
			if strings.HasPrefix(series, "agent_session_info{") &&
				strings.Contains(series, fmt.Sprintf("session=%q", label)) &&
				strings.Contains(series, r.current) {
				infos++
			}
		}
		if infos != 1 {
			t.Errorf(
				"%s: %d series of agent_session_info for %s in session %s",
				what,
				infos,
				label,
				r.current,
			)
		}
	}
	r.turn("to 52 %", modelStep{
		grow:  41_000,
		tools: 1,
	}, modelStep{
		grow:  42_000,
		tools: 1,
	}, end)
	r.receives("a1 warning")
	same("to 52 %", 1)
	r.torn(modelStep{grow: 30_000, cut: true})
	r.home.interrupt()
	late := r.noticed("critical", "waiting").ID

	r.home.enter("/clear")
	r.enter(r.home.another(first))
	r.stub.begin(15_000)
	same("/clear", 2)
	if m, _ := r.message(late); m.Status != "withdrawn" {
		t.Errorf("after /clear: %+v", m)
	}
	r.turn("after /clear, low", modelStep{grow: 1000, tools: 2}, end)
	r.once("after /clear, low", "a1 warning")
	r.turn("after /clear, to 53 %", modelStep{grow: 88_000, tools: 2}, end)
	r.receives("b1 warning")
	r.turn("after /clear, compaction", modelStep{
		refuse: true,
	}, modelStep{
		grow:  1000,
		tools: 1,
	}, end)
	same("after /clear, compaction", 3)
	second := r.current

	r.home.quit()
	r.begin(133_600, "--resume", first)
	if r.current != first {
		t.Errorf("--resume: got session %s, want %s", r.current, first)
	}
	r.turn("--resume", modelStep{grow: 900, tools: 1}, modelStep{grow: 500, tools: 1}, end)
	same("--resume", 4)
	r.receives("a1 critical")

	r.home.quit()
	r.begin(31_500, "--resume", second, "--fork-session")
	if r.current == second || r.current == first {
		t.Errorf("--fork-session: got session %s, want another", r.current)
	}
	r.turn("--fork-session", modelStep{grow: 900, tools: 1}, end)
	same("--fork-session", 5)
	if n := len(boundaries(t, r.home.projects, r.current)); n != 1 {
		t.Errorf("--fork-session: %d copied compactions", n)
	}
	r.turn("the fork to 52 %", modelStep{grow: 71_000, tools: 1}, end)
	r.receives("c1 warning")

	// The agent's own Bash tool starts a client, which inherits pane and name and has a large
	// context.
	before := r.me()
	nested := r.stub.subtask(140_000, 1, 2)
	ask := fmt.Sprintf(
		"%s --print 'Please do subtask-%s.' --model %s </dev/null",
		r.home.client,
		nested,
		r.home.model,
	)
	r.turn("a client in the agent's tool", modelStep{
		grow:  28_500,
		tools: 1,
		bash:  ask,
	}, modelStep{
		grow:  500,
		tools: 1,
	}, end)
	same("a client in the agent's tool", 5)
	if s := r.me(); s.SessionID != before.SessionID || s.ID != before.ID {
		t.Errorf("the client in the agent's tool took its pane: %+v", s)
	}
	var other string
	for id, s := range r.sm.byID() {
		if !slices.Contains(r.sessions, id) {
			t.Logf(
				"nested: agent %s, parent %s, cycle %d, %s tokens",
				s.ID,
				s.ParentID,
				s.Cycle,
				orNone(s.TokensUsed),
			)
			if other = id; s.ParentID != r.agent || s.ID == r.agent || s.Label == label ||
				s.Cycle != 1 {
				t.Errorf("nested: %+v", s)
			}
		}
	}
	r.sessions = append(r.sessions, other)
	r.receives("c1 critical")
	r.once(
		"at the end",
		"a1 warning",
		"b1 warning",
		"a1 critical",
		"c1 warning",
		"c1 critical",
		"d1 critical",
	)
	m := r.sm.series()
	if n := m[`agent_compactions_total{client="claude",trigger="auto"}`]; n != 1 {
		t.Errorf("got %v compactions, want 1", n)
	}
}
