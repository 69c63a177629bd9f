//go:build realclient

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/observer/api"
)

// newHandoffRun returns a run of a client in tmux whose tool calls find sm.
func newHandoffRun(t *testing.T, vars ...string) *policyRun {
	t.Helper()
	t.Setenv("SM_TMUX", "1")
	r := newPolicyRun(t, vars...)
	r.home.extra = append(r.home.extra, "SM_SOCKET="+r.sm.socket())
	return r
}

// handsOver makes the agent write a document and call sm handoff at the end of its turn.
func (r *policyRun) handsOver(doc string, more ...modelStep) {
	r.t.Helper()
	command := fmt.Sprintf(
		"echo 'Next: look at CI.' >%s && %s handoff %s",
		doc,
		r.sm.bin,
		doc,
	)
	r.prompt(append([]modelStep{{
		grow:  1000,
		tools: 1,
		bash:  command,
	}}, append(more, modelStep{
		grow: 100,
	})...)...)
}

// handoffIs waits until the newest handoff has a state.
func (d *daemon) handoffIs(state string) (h api.Handoff) {
	d.t.Helper()
	eventually(d.t, "the handoff is "+state, func() string {
		list, err := d.api.Handoffs(d.t.Context())
		if err != nil || len(list.Handoffs) == 0 {
			return fmt.Sprintf("%+v, %v", list, err)
		}
		h = slices.MaxFunc(
			list.Handoffs,
			func(a, b api.Handoff) int { return a.MadeAt.Compare(b.MadeAt) },
		)
		if h.State != state {
			return fmt.Sprintf("%+v", h)
		}
		return ""
	})
	return h
}

// records counts the lines of all transcripts that contain all of these texts.
func (r *policyRun) records(parts ...string) int {
	r.t.Helper()
	return countRecords(r.t, transcripts(r.t, r.home.projects), parts...)
}

func countRecords(t *testing.T, paths []string, parts ...string) (n int) {
	t.Helper()
	for _, path := range paths {
		text := readFile(t, path)
		for line := range strings.Lines(string(text)) {
			if !slices.ContainsFunc(
				parts,
				func(p string) bool { return !strings.Contains(line, p) },
			) {
				n++
			}
		}
	}
	return n
}

// rotated checks the effects of a handoff by /clear.
func (r *policyRun) rotated(what string, h api.Handoff, clears int) {
	r.t.Helper()
	before := r.current
	eventually(r.t, what+": the agent is in the new session", func() string {
		if s := r.me(); s.SessionID != h.NextSession || s.SessionID == before ||
			s.TokensUsed == nil {
			return fmt.Sprintf(
				"%s of %s, %v tokens",
				s.SessionID,
				h.NextSession,
				s.TokensUsed,
			)
		}
		return ""
	})
	r.enter(h.NextSession)
	if n := r.records("<command-name>/clear</command-name>"); n != clears {
		r.t.Errorf("%s: got %d /clear in the transcripts, want %d", what, n, clears)
	}
	if n := r.records(
		`"type":"user"`,
		"Read "+h.Path+" and continue from where you left off.",
	); n != 1 {
		r.t.Errorf("%s: got the prompt in %d records", what, n)
	}
	s := r.me()
	if s.LastHandoff == nil || *s.LastHandoff != h.Path || s.ID != r.agent ||
		s.Handoff != "" {
		r.t.Errorf("%s: %+v", what, s)
	}
}

// TestRealClientHandoffClear tests that an agent rotates its own context by /clear in its
// pane. It keeps its name, a waiting message follows after its next turn, and status line and
// metrics continue with the new session.
func TestRealClientHandoffClear(t *testing.T) {
	r := newHandoffRun(t)
	r.begin(20_000)
	r.turn("to 45 %", modelStep{grow: 70_000, tools: 2}, modelStep{grow: 500})
	label := r.me().Label

	doc := filepath.Join(r.home.project, "doc.md")
	r.handsOver(doc, modelStep{
		grow:  100,
		tools: 1,
		bash:  "true",
		hold:  true,
	})
	r.held()
	id := r.sends("After the handoff.")
	r.stub.letGo()
	r.ended("the turn of the handoff")
	r.stub.resize(15_000)
	h := r.sm.handoffIs("confirmed")
	r.rotated("by /clear", h, 1)
	eventually(t, "the message follows", func() string {
		if m, _ := r.message(id); m.Status != "confirmed" {
			return m.Status
		}
		return ""
	})
	if s := r.me(); s.Label != label || s.Cycle != 2 {
		t.Errorf("label %q, before %q; cycle %d", s.Label, label, s.Cycle)
	}
	eventually(t, "metrics are of the new session", func() string {
		m := r.sm.series()
		tokens := m[fmt.Sprintf("agent_session_context_tokens{session=%q}", label)]
		if tokens <= 0 || tokens > 30_000 ||
			m[`sm_handoffs_total{outcome="confirmed"}`] != 1 {
			return fmt.Sprintf(
				"%v tokens, %v handoffs",
				tokens,
				m[`sm_handoffs_total{outcome="confirmed"}`],
			)
		}
		return ""
	})

	// After a compaction the document is loaded again, with its age.
	r.ended("the first turn of the new context")
	r.compact()
	r.turn("after the compaction", modelStep{grow: 100})
	if n := r.records(
		"hook_additional_context",
		"HANDOFF LOADED (ID: "+h.Document+")",
		"Next: look at CI.",
	); n != 1 {
		t.Errorf("got the document in %d records after the compaction", n)
	}
}

// TestRealClientHandoffRestart tests that under sm run the client is restarted with the
// prompt, and the agent keeps its name.
func TestRealClientHandoffRestart(t *testing.T) {
	r := newHandoffRun(t, "CLAUDE_SESSION_MANAGER_ID=em")
	r.home.wrapper = []string{r.sm.bin, "run", "--name", "worker", "--"}
	r.agent = "worker"
	r.begin(20_000)
	r.turn("to 45 %", modelStep{grow: 70_000, tools: 2}, modelStep{grow: 500})
	if s := r.me(); s.ParentID != "em" || s.Label != "worker" {
		t.Errorf("parent %q, label %q", s.ParentID, s.Label)
	}
	doc := filepath.Join(r.home.project, "doc.md")
	first := r.current
	r.handsOver(doc, modelStep{
		grow:  100,
		tools: 1,
		bash:  "true",
		hold:  true,
	})
	r.held()
	var ids []string
	for i := range 5 {
		ids = append(
			ids,
			r.sends(fmt.Sprintf(
				"After the handoff; $(%d) %s",
				i,
				strings.Repeat("and more ", 40*i),
			)),
		)
	}
	r.stub.letGo()
	r.ended("the turn of the handoff")
	r.stub.resize(15_000)
	h := r.sm.handoffIs("confirmed")
	if h.Way != "restart" || h.SessionID != first {
		t.Errorf("got %+v", h)
	}
	r.home.nextClient()
	r.rotated("by a restart", h, 0)
	for i, id := range ids { // four in the prompt, and one after it
		eventually(t, "the message follows", func() string {
			if m, _ := r.message(id); m.Status != "confirmed" ||
				(m.Via == "restart") != (i < 4) ||
				m.Offers != 1 {
				return fmt.Sprintf("message %d: %+v", i, m)
			}
			return ""
		})
		eventually(t, "the model gets the message", func() string {
			if !r.stub.gotMessage(id) {
				return fmt.Sprintf("not of message %d", i)
			}
			return ""
		})
	}
	if s := r.me(); s.Label != "worker" || s.Cycle != 2 || s.Name != "worker" {
		t.Errorf("got %+v", s)
	}
	r.ended("the first turn of the new client")
	r.home.quit()
	eventually(t, "sm run ends with its client", func() string {
		if dead := strings.TrimSpace(r.home.do(
			"",
			"display-message",
			"-p",
			"-t",
			"agent",
			"#{pane_dead}",
		)); dead != "1" {
			return "the pane is alive"
		}
		return ""
	})
}
