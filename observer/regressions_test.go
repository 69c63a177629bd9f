package observer

import (
	"strings"
	"testing"
	"time"
)

// The tests of this file cover bugs of similar programs that only a complete observer can
// have.

func TestOperatorIsNotifiedOfASilentAgent(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.client(4711, uuid(1), `,"status":"busy"`)
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	r.until("the client is known", func() bool { return r.session("em").State == "busy" })
	for _, minutes := range []int{1, 9, 12, 20} { // time passes without reports
		noErrors(
			t,
			r.app.do(
				t.Context(),
				func(c *core) { c.pass(time.Now().Add(time.Duration(minutes) * time.Minute)) },
			),
		)
	}
	r.until(
		"it is notified",
		func() bool { return strings.Contains(r.log.String(), "notice for the operator") },
	)
	if n := r.scrape()[`sm_notices_total{kind="no_data"}`]; n != 1 ||
		strings.Count(r.log.String(), "notice for the operator") != 1 {
		t.Errorf("%v notices:\n%s", n, r.log)
	}
}
