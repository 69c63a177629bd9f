package observer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file are bugs that others had in the same features, by their numbers
// in the survey of them, where it takes the whole observer to have them.

func TestSilenceOfAnAgentAtWorkIsToldToTheOperator(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.client(4711, uuid(1), `,"status":"busy"`)
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	r.until("the client is known", func() bool { return r.session("em").State == "busy" })
	for _, minutes := range []int{1, 9, 12, 20} { // the clock runs, and nothing is heard
		noErrors(
			t,
			r.app.do(t.Context(), func(c *core) { c.pass(time.Now().Add(time.Duration(minutes) * time.Minute)) }),
		)
	}
	r.until("it is told", func() bool { return strings.Contains(r.log.String(), "notice for the operator") })
	if n := r.scrape()[`sm_notices_total{kind="no_data"}`]; n != 1 ||
		strings.Count(r.log.String(), "notice for the operator") != 1 {
		t.Errorf("%v notices:\n%s", n, r.log)
	}
	r.stop()
}

func TestSubagentsMoveNothing(t *testing.T) {
	t.Parallel()
	r := newSeed(t)
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	r.sends("em", "urgent", "text")
	before := r.session("em")
	for _, event := range []string{
		"PreCompact",
		"PostCompact",
		"SessionStart",
		"UserPromptSubmit",
		"PostToolUse",
		"Stop",
		"SubagentStop",
		"SessionEnd",
	} {
		if line := r.fire(
			"em",
			uuid(7),
			event,
			`,"agent_id":"abf77f2542a28b344","source":"compact","trigger":"auto"`,
		); line != "" {
			t.Errorf("%s is answered with %q", event, line)
		}
	}
	if diff := cmp.Diff(before, r.session("em")); diff != "" {
		t.Errorf("the agent (-before +after):\n%s", diff)
	}
	r.checkMail("", "text waiting")
	r.stop()
}
