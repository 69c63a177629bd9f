package view

import (
	"strings"
	"testing"
	"time"

	"sm/dashboards/screen"
	"sm/deploy/doctor"
	"sm/observer/api"
)

// TestMessagesSayWhatWaitsForHooks tests that messages that wait for hooks are marked in the
// table, with the remedy below it.
func TestMessagesSayWhatWaitsForHooks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	list := []api.Message{
		{
			ID:       "a1b2c3",
			To:       "w1",
			Mode:     "sequential",
			Status:   "waiting",
			MadeAt:   now,
			Text:     "x",
			WaitsFor: api.WaitsForHooks,
		},
		{
			ID:     "d4e5f6",
			To:     "w1",
			Mode:   "sequential",
			Status: "waiting",
			MadeAt: now,
			Text:   "y",
		},
	}
	for _, c := range []struct {
		list []api.Message
		want bool
	}{{list, true}, {list[1:], false}} {
		var out strings.Builder
		if err := (&Printer{
			Writer:  &out,
			Columns: 80,
		}).Print("messages", api.Messages{Messages: c.list}); err != nil {
			t.Fatal(err)
		}
		says := strings.Contains(out.String(), "waiting for hooks") &&
			strings.Contains(out.String(), "1 wait for hooks: ") &&
			strings.Contains(out.String(), doctor.HooksRemedy)
		if says != c.want || !c.want && strings.Contains(out.String(), "hooks") {
			t.Errorf("%d messages:\n%s", len(c.list), &out)
		}
	}
}

// TestMessagesFit tests that the newest messages come first and that no line is wider than
// the terminal.
func TestMessagesFit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var list []api.Message // oldest first, as in the observer's answer
	for i, status := range []string{"waiting", "unconfirmed", "confirmed", "withdrawn"} {
		list = append(list, api.Message{
			ID:     "a1b2c" + string(rune('0'+i)),
			To:     "an-agent-with-a-long-name",
			Kind:   "compacted",
			Status: status,
			Via:    "restart",
			MadeAt: now.Add(time.Duration(i-100) * time.Minute),
			Text:   "[sm context] " + strings.Repeat("長いtext ", 40),
		})
	}
	for _, width := range []int{60, 80, 120, 200} {
		var out strings.Builder
		if err := (&Printer{
			Writer:  &out,
			Columns: width,
		}).Print("messages", api.Messages{Messages: list}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(list)+1 || !strings.HasPrefix(lines[1], "a1b2c3") ||
			!strings.HasPrefix(lines[4], "a1b2c0") {
			t.Errorf("in %d cells:\n%s", width, &out)
		}
		for _, line := range lines {
			if n := screen.Cells(line); n > width {
				t.Errorf("%d cells in %d: %s", n, width, line)
			}
		}
	}
}

// TestShortAgent tests that an agent is shown by a name that commands accept.
func TestShortAgent(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"web": "web", "ce1f4a0e-1111-4222-8333-944455556666": "ce1f4a0e", "billing-migration": "billing-mig…", "a\x1bb": "a?b",
	} {
		if got := shortAgent(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}
