package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWaitingNotifiesTheOperator tests that the operator is notified without hooks, once for
// each wait, and without the title in the log. A dry run only logs.
func TestWaitingNotifiesTheOperator(t *testing.T) {
	t.Parallel()
	const text = "Fix the login test in web waits for you: permission: "
	for dryRun, want := range map[bool]string{
		false: text + "0 (x)\n[sm context] Other work in web is active, but its context size has not been seen " +
			"for 2 min. sm doctor shows which source is silent.\n" + text + "4 (x)\n",
		true: "",
	} {
		t.Run(fmt.Sprint("dry run ", dryRun), func(t *testing.T) {
			t.Parallel()
			testWaiting(t, dryRun, want)
		})
	}
}

func testWaiting(t *testing.T, dryRun bool, want string) {
	g := newGuarded(t)
	g.o.DryRun = dryRun
	g.o.Waiting = 2 * time.Minute
	g.o.Alerts.NoDataAfter = 2 * time.Minute // counts for the agent that does not wait
	g.o.MaxSessions = 1                      // limits only lists and metrics
	g.start()
	began := time.Now()
	g.write(uuid(1), prompt(ago(time.Minute), "p1", "Fix the login test"), reply(ago(time.Minute), "m1", 40_000, 10))
	g.write(uuid(2), prompt(ago(0), "p2", "Other work"), reply(ago(0), "m2", 40_000, 10))
	for minute := range 8 {
		asked := minute / 4 * 4 // answered after 4 minutes, and then asked again
		g.rig.client(4711, uuid(1), fmt.Sprintf(
			`,"status":"waiting","waitingFor":"permission: %d\u0007(x)","statusUpdatedAt":%d`,
			asked,
			began.Add(time.Duration(asked)*time.Minute).UnixMilli(),
		))
		g.until("it waits", func() bool {
			return strings.Contains(g.ask("GET", "/sessions", "").Body, fmt.Sprint("permission: ", asked))
		})
		if minute == 3 { // it gets another id while it waits
			g.ask("POST", "/sessions", fmt.Sprintf(`{"id":"web","claude_session_id":%q}`, uuid(1)))
		}
		noErrors(t, g.app.do(t.Context(), func(c *core) {
			c.pass(began.Add(time.Duration(minute)*time.Minute + time.Second))
		}))
	}
	g.stop()
	if got := g.notified(); got != want {
		t.Errorf("the command got %q, want %q", got, want)
	}
	if log := g.log.String(); strings.Count(log, "waits for you") != 2 ||
		strings.Contains(log, "login") {
		t.Errorf("got log %s", log)
	}
}

// TestCompactionNotifiesTheOperator tests that the notice names the agent as that of a wait
// does, also if its parent cannot be reached.
func TestCompactionNotifiesTheOperator(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{"", "boss"} {
		g := newGuarded(t)
		g.o.Alerts.OperatorCompactions = true
		g.start()
		g.write(
			uuid(1),
			prompt(ago(time.Minute), "p1", "Fix the login test"),
			reply(ago(time.Minute), "m1", 40_000, 10),
		)
		g.until("the session is read", func() bool { return len(g.sessions()) == 1 })
		g.joins(uuid(1), fmt.Sprintf(`,"parent_session_id":%q`, parent))
		g.write(uuid(1), boundary(ago(0), "b1", "auto", 155_000))
		g.until("the operator is notified", func() bool { return g.notified() != "" })
		const want = "[sm context] Fix the login test in web was compacted, auto, 155,000 tokens, and is still running.\n"
		if got := g.notified(); got != want {
			t.Errorf("the command got %q, want %q", got, want)
		}
		if log := g.log.String(); strings.Contains(log, "login") || !strings.Contains(log, uuid(1)+" was compacted") {
			t.Errorf("got log %s", log)
		}
	}
}
