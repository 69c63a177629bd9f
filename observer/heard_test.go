package observer

import (
	"testing"
	"time"
)

// TestHeardWhileAway: what was heard while no observer ran is confirmed at the next start,
// before anything is offered again.
func TestHeardWhileAway(t *testing.T) {
	t.Parallel()
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."), reply(ago(8*time.Minute), "m1", 60_000, 10))
			r.start()
			r.fire("em", uuid(1), "UserPromptSubmit", "")
			r.sends("em", "urgent", "text")
			line := r.fire("em", uuid(1), "PostToolUse", "")
			end(r)
			r.write(uuid(1), attachment(ago(0), line), reply(ago(0), "m2", 104_000, 10))
			r.start()
			r.checkMail("at the start", "text confirmed", "em/1/warning waiting")
			if again := r.fire("em", uuid(1), "PostToolUse", ""); again != "" {
				t.Errorf("heard again: %q", again)
			}
			r.stop()
		})
	}
}
