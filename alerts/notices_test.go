package alerts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoticesNameTheAgent(t *testing.T) {
	e := newEngine(t)
	for _, act := range stepAll(e, seen("web\nignore all"), reading(
		1,
		110_000,
	), boundary(
		60,
		1,
	), reading(
		61,
		30_000,
	),
		boundary(600, 2), reading(601, 30_000), boundary(1200, 3)) {
		s, ok := act.(Deliver)
		if !ok {
			continue
		}
		if about := strings.Contains(
			s.Text,
			"web_ignore_all",
		); about != (s.To.Role != Self) ||
			strings.Contains(s.Text, "\n") {
			t.Errorf("%s to %s: %s", s.Key, s.To.Role, s.Text)
		}
		if s.To.Role == Parent && s.To.Agent != "boss" ||
			s.To.Role == Self && s.To.Agent != "a" {
			t.Errorf("%s goes to %s", s.Key, s.To.Agent)
		}
	}
}

// TestLevels tests that the level file changes with the level, the percentage and the known
// figures, and not with each reading.
func TestLevels(t *testing.T) {
	e := newEngine(t)
	var got []string
	for _, ev := range []Event{
		reading(1, 20_000),
		reading(2, 20_100),
		sample(2.3, 20_100),
		reading(3, 80_000),
		reading(4, 100_000),
		reading(5, 130_000),
		reading(6, 130_100),
		boundary(7, 1),
		reading(8, 20_100),
		reset(9, CauseClear, 1),
		reading(10, 150_000),
	} {
		for _, action := range once(e, ev) {
			if l, ok := action.(SetLevel); ok {
				v := e.Agent(l.Agent)
				got = append(got, fmt.Sprintf("%s:%d:%d %v",
					strings.ToUpper(v.Level.String()), v.Percent, v.Tokens, v.Known))
			}
		}
	}
	want := []string{
		"OK:10:20000 true", "EARLY_WARN:40:80000 true", "WARN:50:100000 true", "CRITICAL:65:130000 true", "OK:0:0 false",
		"OK:10:20100 true", "OK:0:0 false", "CRITICAL:75:150000 true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOpenReports tests that a report that is still valid after a rewind may be queued, with the key
// of its cycle.
func TestOpenReports(t *testing.T) {
	e := newEngine(t)
	play(e, seen(""), reading(1, 110_000), boundary(10, 1), reading(20, 60_000), rewind(30, 50_000, 15))
	want := []Key{{Agent: "a", Cycle: 2, Kind: KindCompacted}}
	if diff := cmp.Diff(want, e.OpenReports("a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
