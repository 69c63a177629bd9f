package observer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sm/transcript/claude/hook"
)

// TestNoticeAfterNaming: an agent that was registered by name gets the notice about the
// session that its first hook names.
func TestNoticeAfterNaming(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.joins("em", `,"parent_session_id":"boss"`)
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 140_000, 10))
	r.until("the context is read", func() bool {
		return strings.Contains(r.ask(http.MethodGet, "/sessions", "").Body, `"level":"critical"`)
	})
	if text := r.fire("em", uuid(1), "UserPromptSubmit", ""); !strings.Contains(text, "Context at 70%") {
		t.Errorf("its first hook is answered with %q", text)
	}
	if x := r.session("em"); !x.Reachable || x.ParentID != "boss" {
		t.Errorf("%+v", x)
	}
}

// TestNamingKeeps: an agent that is registered by name for its session keeps the window and
// cost of the status line, and waits for its user as before.
func TestNamingKeeps(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 40_000, 10))
	r.until("the session is read", func() bool { return len(r.sessions()) == 1 })
	r.fire("", uuid(1), "SessionStart", `,"source":"startup"`)
	reported := func(age time.Duration, usd float64) *float64 {
		r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(
			`{"session_id":%q,"hook_event_name":"StatusLine","cost":{"total_cost_usd":%g},`+
				`"context_window":{"context_window_size":1000000},"sm":{"at":%q}}`, uuid(1), usd, ago(age)))
		return r.sessions()[0].CostUSD
	}
	if got := reported(time.Hour, 1.25); got != nil {
		t.Errorf("cost %v by a report before the last reply", *got)
	}
	r.fire("", uuid(1), "SessionStart", `,"source":"resume","context_tokens":40000`)
	if got := r.sessions()[0].CostUSD; got != nil {
		t.Errorf("cost %v after a hook with a size", *got)
	}
	reported(-time.Second, 2.5) // now
	r.fire("", uuid(1), "Notification", `,"notification_type":"permission_prompt","message":"Bash"`)
	r.joins("em", fmt.Sprintf(`,"claude_session_id":%q`, uuid(2))) // an earlier session
	r.joins("em", fmt.Sprintf(`,"claude_session_id":%q`, uuid(1)))
	x := r.session("em")
	if x.WindowTokens != 1_000_000 || x.CostUSD == nil || x.State != "waiting" {
		t.Errorf("window %d, cost %v, %s", x.WindowTokens, x.CostUSD, x.State)
	}
}

// TestNamingKeepsAtWork: an agent is at work after it got a name, and after it resumed an
// old session.
func TestNamingKeepsAtWork(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	for n := range 2 {
		at := ago(3 * time.Hour)
		r.write(uuid(n), prompt(at, "p", "Go."), reply(at, fmt.Sprint("m", n), 40_000, 10))
	}
	r.start()
	want := func(ids ...string) {
		t.Helper()
		noErrors(t, r.app.do(t.Context(), func(c *core) {
			now := time.Now()
			for _, ev := range c.fleet.Activity(now) {
				c.act(c.engine.Step(ev), now)
			}
			if got := c.engine.AtWork(); !slices.Equal(got, ids) {
				t.Errorf("at work: got %q, want %q", got, ids)
			}
			if got := c.engine.IDs(); slices.Contains(got, uuid(1)) != slices.Contains(ids, uuid(1)) {
				t.Errorf("the engine has the agents %q", got)
			}
		}))
	}
	r.fire("em", uuid(9), "SessionStart", `,"source":"startup"`)
	r.fire("", uuid(1), "SessionStart", `,"source":"startup"`)
	want(uuid(1), "em")
	r.joins("web", fmt.Sprintf(`,"claude_session_id":%q`, uuid(1)))
	r.fire("em", uuid(0), "SessionStart", `,"source":"resume"`)
	r.fire("em", uuid(0), "UserPromptSubmit", "")
	want("em", "web")
}

// TestParentByLabel: a hook names the parent by its label, which then gets a name.
func TestParentByLabel(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	for n := range 2 {
		at := ago(time.Minute)
		r.write(uuid(n), prompt(at, "p", "Go."), reply(at, fmt.Sprint("m", n), 40_000, 10))
	}
	r.until("the sessions are read", func() bool { return len(r.sessions()) == 2 })
	r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(
		`{"session_id":%q,"hook_event_name":"UserPromptSubmit","sm":{"parent":%q}}`,
		uuid(1), uuid(0)[:8]))
	r.joins("boss", fmt.Sprintf(`,"claude_session_id":%q`, uuid(0)))
	r.write(uuid(1), boundary(ago(0), "b1", "auto", 155_000))
	r.untilMail("its report", uuid(1)+"/2/compacted waiting to boss")
}

// TestRegisterOldID: registering an agent by the id of its pane, or of a session that it has
// left, returns the agent.
func TestRegisterOldID(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	pane := hook.TmuxAgent("/tmp/t", 5, "%3")
	starts := func(n int, source string) {
		r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(
			`{"session_id":%q,"hook_event_name":"SessionStart","source":%q,"sm":{"agent":%q,"tmux":"/tmp/t","server":5,"pane":"%%3"}}`,
			uuid(n), source, pane))
	}
	starts(1, "startup")
	r.joins("em", fmt.Sprintf(`,"claude_session_id":%q`, uuid(1)))
	starts(2, "clear")
	for _, id := range []string{pane, uuid(1)} {
		x := r.ask(http.MethodPost, "/sessions", fmt.Sprintf(`{"id":%q,"parent_session_id":"boss"}`, id))
		if !strings.Contains(x.Body, `"id":"em"`) {
			t.Errorf("registered %s: %v %.150s", id, x.Code, x.Body)
		}
	}
}

// TestWarningIsNew: a warning that waits for the end of a turn has the figures of the newest reply.
func TestWarningIsNew(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	for i, tokens := range []int{101_000, 125_000} {
		r.write(uuid(1), prompt(ago(time.Minute), "p", "Go."), reply(ago(time.Second), fmt.Sprint(i), tokens, 10))
		r.until("the reply is read", func() bool {
			n := r.session("em").TokensUsed
			return n != nil && *n == int64(tokens)
		})
	}
	if text := r.fire("em", uuid(1), "Stop", ""); !strings.Contains(text, "Context at 63%, 125,000") {
		t.Errorf("got %q", text)
	}
}
