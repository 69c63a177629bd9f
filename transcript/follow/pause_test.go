package follow

import (
	"testing"
	"time"
)

// TestPause: a search of all folders takes at most a percent of the time, unless that would
// put off the next one for longer than 5 minutes.
func TestPause(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, x := range []struct{ rescan, took, want time.Duration }{
		{30 * s, 0, 30 * s},
		{30 * s, 300 * ms, 30 * s},
		{30 * s, 400 * ms, 40 * s},
		{30 * s, 2 * s, 200 * s},
		{30 * s, 3 * s, 300 * s},
		{30 * s, time.Hour, 300 * s},
		{time.Hour, 10 * s, time.Hour},
	} {
		if got := pause(x.rescan, x.took); got != x.want {
			t.Errorf("every %v, took %v: again after %v, want %v", x.rescan, x.took, got, x.want)
		}
	}
}
