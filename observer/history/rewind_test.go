package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/transcript/transcripttest"
)

// TestRewound tests that a rewind has its place, the size from which the conversation
// continues and the part that was removed, and that a copy of it belongs to another session.
func TestRewound(t *testing.T) {
	s := transcripttest.NewHandWritten(1)
	s.Turn()
	s.Read(30)
	s.Turn()
	s.Read(120, 150)
	s.GoBack(1)
	s.Read(40)
	c := s.Copied(2, true)
	h := settled(t, transcripttest.Written(t, t.TempDir(), s, c))
	var got []string
	if err := h.Each(t.Context(), func(l Timeline) {
		got = append(got, l.Change.Name[:8])
		for i, ev := range l.Events {
			since := func(at time.Time) float64 { return at.Sub(l.Events[0].At).Seconds() }
			line := fmt.Sprintf("%d %v", ev.Tokens, since(ev.At))
			switch ev.Kind {
			case alerts.EventTurnStart:
				line = fmt.Sprintf("turn %v", since(ev.At))
			case alerts.EventReset:
				line = fmt.Sprintf(
					"back to %d at %v, without %v..%v",
					ev.Tokens,
					since(ev.At),
					since(ev.Left.Time()),
					since(ev.Until.Time()),
				)
			}
			if !l.First[i] {
				line += " copied"
			}
			got = append(got, line)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"00000001",
		"turn 0",
		"30000 10",
		"turn 40",
		"120000 50",
		"150000 60",
		"turn 90",
		"back to 30000 at 90, without 10..60",
		"40000 100",
	}
	for _, line := range slices.Clone(want)[1:] {
		want = append(want, line+" copied")
	}
	want = slices.Insert(want, 9, "00000002")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
