package follow

import (
	"testing"
	"time"
)

// TestDue: a live file is checked as often as ever while it is written and without inotify, and a tenth as often while
// inotify has no events.
func TestDue(t *testing.T) {
	now := time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		seen    seen
		watched bool
		want    bool
	}{
		{"never checked", seen{}, true, true},
		{"checked a moment ago", seen{checked: now.Add(-time.Second)}, true, false},
		{"and written since", seen{checked: now.Add(-time.Second), written: true}, true, true},
		{"in a folder that is not watched", seen{checked: now.Add(-time.Second)}, false, true},
		{"calm for long", seen{checked: now.Add(-calm * time.Second)}, true, true},
		{"calm for not quite so long", seen{checked: now.Add(-calm*time.Second + 1)}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.seen.due(now, time.Second, c.watched); got != c.want {
				t.Errorf("due: %v, want %v", got, c.want)
			}
		})
	}
}
