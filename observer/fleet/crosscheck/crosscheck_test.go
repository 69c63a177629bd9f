package crosscheck

import (
	"testing"

	"sm/transcript"
)

// TestCompare: a report agrees with any reading that was the newest within five seconds of it; else the nearest one says how
// far it is off.
func TestCompare(t *testing.T) {
	t.Parallel()
	const s = transcript.Instant(1e9)
	readings := []transcript.Reading{{At: 10 * s, Tokens: 50_000}, {At: 20 * s, Tokens: 60_000}}
	for _, c := range []struct {
		name   string
		sample Sample
		state  string
		drift  int64
	}{
		{"the newest", Sample{At: 21 * s, Tokens: 60_000}, Agrees, 0},
		{"the one before, a moment late", Sample{At: 24 * s, Tokens: 50_000}, Agrees, 0},
		{"the one before, too late", Sample{At: 26 * s, Tokens: 50_000}, Drift, -10_000},
		{"a rounded figure", Sample{
			At:      21 * s,
			Tokens:  60_000,
			Percent: 31,
			Window:  200_000,
		}, Agrees, 0},
		{"another share of it", Sample{
			At:      21 * s,
			Tokens:  60_000,
			Percent: 40,
			Window:  200_000,
		}, Drift, 0},
		{"a share alone", Sample{
			At:      21 * s,
			Tokens:  58_000,
			Percent: 29,
			Window:  200_000,
			Rough:   true,
		}, Agrees, 0},
		{"nothing", Sample{At: 21 * s}, None, 0},
		{"before all readings", Sample{At: 2 * s, Tokens: 1}, None, 0},
		{"rewound", Sample{At: 21 * s, Tokens: 1, Back: true}, Agrees, 0},
	} {
		x := c.sample
		x.Compare(readings)
		if x.Compare(readings) {
			t.Errorf("%s: what is known already is news", c.name)
		}
		if state, drift, _ := x.Check(60 * s); state != c.state || drift != c.drift {
			t.Errorf("%s: %q by %d, want %q by %d", c.name, state, drift, c.state, c.drift)
		}
	}
	x := Sample{At: 21 * s, Tokens: 70_000}
	x.Compare(readings)
	if state, _, _ := x.Check(22 * s); state != Lagging {
		t.Errorf("at once: %q", state)
	}
}
