package page

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// agent is a session in a state, with so many replies left; below 0 for unknown.
func agent(name, state, pressure string, ratio, left float64) *api.Session {
	s := &api.Session{
		ID:            name,
		Name:          name,
		State:         state,
		Enabled:       true,
		PressureLevel: pressure,
	}
	if pressure != "" {
		s.Pressure = &ratio
	}
	if left >= 0 {
		s.Forecast = &api.Forecast{Replies: &api.Range{Low: left / 2, Likely: left, High: left * 2}}
	}
	return s
}

// TestOrder tests the order of the rows: agents that wait for a person, working ones
// by what is left, then the idle and the quiet.
func TestOrder(t *testing.T) {
	t.Parallel()
	compacts := agent("compacts", "idle", "", 0, 0)
	compacts.IsCompacting = true
	var rows []*drawn
	for _, s := range []*api.Session{
		agent("quiet", "ended", "imminent", 1, 2),
		agent("idle", "idle", "imminent", 0.99, 2),
		agent("unknown", "busy", "", 0, -1),
		agent("late", "busy", "high", 0.9, 20),
		agent("soon", "busy", "calm", 0.3, 2),
		agent("half", "shell", "calm", 0.5, -1),
		agent("nearly", "busy", "imminent", 0.96, -1),
		agent("sooner by name", "busy", "calm", 0.3, 2),
		agent("waits", "waiting", "calm", 0.1, -1),
		compacts,
	} {
		rows = append(rows, &drawn{session: s, data: dataOf(s)})
	}
	slices.SortFunc(rows, compare)

	var got []string
	for _, r := range rows {
		got = append(got, r.data.Name)
	}
	want := []string{
		"waits",
		"compacts",
		"soon",
		"sooner by name",
		"nearly",
		"late",
		"half",
		"unknown",
		"idle",
		"quiet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRepliesAreShownAsTheyAreSorted tests that rows with the same number are equal
// in the order, and that sm top shows the same number.
func TestRepliesAreShownAsTheyAreSorted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		likely float64
		want   string
		left   float64
	}{
		{0.4, "due now", 0},
		{1.4, "≈ 1 reply", 1},
		{21.6, "≈ 22 replies", 22},
		{999.4, "≈ 999 replies", 999},
		{999.6, "1000+ replies", 1000},
		{1e9, "1000+ replies", 1000},
	} {
		s := agent("x", "busy", "", 0, c.likely)
		data := dataOf(s)
		if got := outlookOf(s).Replies; got != c.want || data.Left != c.left ||
			math.Mod(data.Order, 2*repliesNever) != c.left {
			t.Errorf(
				"%v: shows %q and sorts by %v and %v, want %q and %v",
				c.likely,
				got,
				data.Left,
				data.Order,
				c.want,
				c.left,
			)
		}
	}
}

// TestTold: "told at" is shown only after the agent has read the notice.
func TestTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*api.Session)
		want   string
	}{
		{"heard", func(*api.Session) {}, "told at 65 %"},
		{"not heard", func(s *api.Session) { s.NoticeHeard = false }, "at 65 %"},
		{"warned", func(s *api.Session) {
			s.Level = "warn"
			s.NoticePercent = 50
		}, "told at 50 %"},
		{"early", func(s *api.Session) { s.Level = "early_warn" }, ""},
		{"silenced", func(s *api.Session) { s.Enabled = false }, ""},
		{"no window", func(s *api.Session) { s.NoticePercent = 0 }, "told at 130k"},
		{"unknown", func(s *api.Session) { s.TokensUsed = nil }, ""},
	} {
		s, _ := full()
		tt.change(s)
		if got := told(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestNoBareSeparator tests that dots are only between what is shown of an agent.
func TestNoBareSeparator(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for _, c := range []struct {
		of   api.Session
		want string
	}{
		{api.Session{ID: "a", Name: "a", ParentID: "lead"}, "<small>of <bdi>lead</bdi></small>"},
		{api.Session{
			ID:       "a",
			Name:     "a",
			ParentID: "lead",
			Model:    "claude-x",
		}, "<small><bdi>x</bdi> · of <bdi>lead</bdi></small>"},
		{api.Session{ID: "a", Title: "tests", ParentID: "lead"}, "<small><bdi>a</bdi> · of <bdi>lead</bdi></small>"},
	} {
		html, err := p.draw("row", row{Session: &c.of})
		if err != nil || !strings.Contains(html, c.want) {
			t.Errorf("%v: no %q in %s", err, c.want, html)
		}
	}
}
