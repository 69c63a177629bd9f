package follow

import (
	"testing"
	"time"
)

// TestPause: a search of all folders takes at most a percent of the time, unless that would
// put off the next one for longer than 5 minutes.
func TestPause(t *testing.T) {
	for _, x := range []struct{ rescan, took, want time.Duration }{
		{30 * time.Second, 300 * time.Millisecond, 30 * time.Second},
		{30 * time.Second, 400 * time.Millisecond, 40 * time.Second},
		{30 * time.Second, time.Hour, 300 * time.Second},
		{time.Hour, 10 * time.Second, time.Hour},
	} {
		if got := pause(x.rescan, x.took); got != x.want {
			t.Errorf("every %v, took %v: again after %v, want %v", x.rescan, x.took, got, x.want)
		}
	}
}
