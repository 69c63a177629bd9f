package outbox

import (
	"testing"
	"time"
)

// Only of the answer to a hook is it asked when it was given: what is typed shows whenever.
func TestCheckAsksWhenAHookWasAnswered(t *testing.T) {
	for by, want := range map[Carrier]time.Time{Hook: sec(3), Tmux: {}, Restart: {}} {
		q := New(Defaults(), free)
		put(t, q, Message{To: "a", Text: "x"}, 0)
		q.Offer("a", by, sec(3), nil)
		q.Check(sec(4), func(_ string, answered time.Time) (time.Time, bool) {
			if !answered.Equal(want) {
				t.Errorf("%s: answered at %v, want %v", by, answered, want)
			}
			return sec(4), true
		})
	}
}

// free holds no messages back.
func free(string) bool { return false }
