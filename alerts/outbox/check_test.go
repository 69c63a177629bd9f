package outbox

import (
	"testing"
	"time"
)

// TestCheckAsksWhenAHookWasAnswered tests that Check needs the time of an answer only for
// hooks: typed text shows at any time.
func TestCheckAsksWhenAHookWasAnswered(t *testing.T) {
	for by, want := range map[Carrier]time.Time{Hook: sec(3), Tmux: {}, Restart: {}} {
		q := New(Defaults(), free)
		put(t, q, Message{To: "a", Text: "x"})
		q.Offer("a", by, sec(3), nil)
		q.Check(sec(4), func(_ string, answered time.Time) (time.Time, bool) {
			if !answered.Equal(want) {
				t.Errorf("%s: answered at %v, want %v", by, answered, want)
			}
			return sec(4), true
		})
	}
}

// free delays no messages.
func free(string) bool { return false }
