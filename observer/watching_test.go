package observer

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sm/handoff/rotation"
	"sm/observer/api"
)

// TestWatchingWithoutHooks tests that an agent that no message can reach gets no notices, and
// none are shown. Once a message can reach it, it gets the notice about its present context.
func TestWatchingWithoutHooks(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	full := func(id string) {
		r.write(id, prompt(ago(time.Minute), "p"+id, "Go."), reply(ago(time.Minute), "m"+id, 140_000, 10))
	}
	full(uuid(4)) // full at the start
	r.start()
	r.joins("zz", "") // neither this nor a script's posts make an agent reachable
	r.happens("zz", "context_reset")
	full(uuid(1))
	full(uuid(2))
	full(uuid(3))
	r.until("the contexts are read", func() bool {
		return strings.Count(r.ask(http.MethodGet, "/sessions", "").Body, `"level":"critical"`) == 4
	})
	r.write(uuid(3), boundary(ago(0), "b1", "auto", 155_000))
	r.until("one is compacted", func() bool {
		return strings.Contains(r.log.String(), "cause=compaction trigger=auto pre_tokens=155000 warned=false")
	})
	wantMail(r)
	watching := func(want bool) {
		t.Helper()
		body := r.ask(http.MethodGet, "/sessions", "").Body
		if got := strings.Contains(body, `"agents_not_warned":true`); got != want {
			t.Errorf("agents_not_warned is %t: %s", got, body)
		}
	}
	watching(true)
	for _, route := range []string{"messages", "reminders"} {
		a := r.ask(http.MethodPost, "/sessions/"+uuid(1)+"/"+route, `{"text":"Hi.","in_seconds":1}`)
		if a.Code != http.StatusConflict || !strings.Contains(a.Body, "no agent can be reached: run sm install") {
			t.Errorf("%s: got %d %s", route, a.Code, a.Body)
		}
	}
	notices := func(want int) {
		t.Helper()
		noErrors(t, r.app.do(t.Context(), func(c *core) { c.tick(time.Now()) }))
		logged := strings.Count(r.log.String(), "msg=notice")
		counted := r.scrape()[`sm_notices_total{kind="critical"}`]
		if logged != want || counted != float64(want) {
			t.Errorf("%d notices in the log, %v in the metrics, want %d", logged, counted, want)
		}
		page := r.get("/?session=" + uuid(1)).Body
		if shown := strings.Contains(page, "notice: critical"); shown != (want > 0) {
			t.Errorf("the page shows the notice: %t", shown)
		}
	}
	notices(0)

	r.joins(uuid(1), `,"pane":"%3"`)
	notices(1)
	watching(false)
	wantMail(r, uuid(1)+"/1/critical waiting")

	r.fire("other", uuid(5), "SessionStart", `,"source":"startup"`) // makes only that agent reachable
	notices(1)
	if text := r.fire(uuid(2), uuid(2), "PostToolUse", ""); !strings.Contains(text, "Context at 70%") {
		t.Errorf("answer to its first hook: got %q", text)
	}
	notices(2)
	wantMail(r, uuid(1)+"/1/critical waiting", uuid(2)+"/1/critical offered")
}

// TestWatchedRunHandsOver tests that an agent without hooks and pane hands over by itself
// under 'sm run', since a restart needs no message.
func TestWatchedRunHandsOver(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.o.Handoff.AutoRotate = true
	r.start()
	r.joins("w1", `,"claude_session_id":"`+uuid(1)+`"`)
	r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(0), "m1", 150_000, 10))
	r.until("a handoff is scheduled", func() bool { return len(r.handoffs()) > 0 })
	noErrors(t, r.app.do(t.Context(), func(c *core) { c.unhelpful(rotation.AgentRecord{Agent: "w1"}) }))
	wantMail(r)
}

// TestDemoWarns: the agents of a demo have no hooks, and get notices.
func TestDemoWarns(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.o.Demo = true
	r.start()
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 140_000, 10))
	r.untilMail("of the demo", uuid(1)+"/1/critical waiting")
}
