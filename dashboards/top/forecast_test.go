package top

import (
	"testing"

	"github.com/charmbracelet/x/ansi"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// TestForecastTexts checks that forecasts are in replies, minutes and turns, and
// shorter in a narrow column.
func TestForecastTexts(t *testing.T) {
	t.Parallel()
	f := &api.Forecast{
		Replies: &api.Range{Low: 25, Likely: 40.4, High: 70}, Turns: &api.Range{Low: 2, Likely: 2.6, High: 9},
		Seconds: &api.Range{Low: 450, Likely: 720, High: 1260},
	}
	one := &api.Forecast{
		Replies: &api.Range{Low: 0.3, Likely: 1, High: 3},
		Turns:   &api.Range{Likely: 1},
		Seconds: &api.Range{Likely: 12},
	}
	for _, c := range []struct {
		of   *api.Forecast
		want string
	}{
		{f, "≈ 40 replies, 25–70; about 12 min; 3 turns"},
		{one, "≈ 1 reply, 0–3; about 1 min; 1 turn"},
		{&api.Forecast{Replies: f.Replies}, "≈ 40 replies, 25–70"},
		{&api.Forecast{Replies: f.Replies, Seconds: &api.Range{Likely: 3 * 3600}}, "≈ 40 replies, 25–70; about 3 h"},
		{&api.Forecast{
			Replies: f.Replies,
			Seconds: &api.Range{Likely: 72 * 3600},
		}, "≈ 40 replies, 25–70; about 3 days"},
		{nil, ""},
	} {
		if got := forecastText(c.of); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for width, want := range map[int]string{
		7:  "≈40",
		10: "≈40",
		11: "≈ 40, 25–70",
		18: "≈ 40, 25–70",
		19: "≈ 40, 25–70; 12 min",
	} {
		if got := ansi.Strip(repliesCell(place{Session: &api.Session{Forecast: f}, width: width})); got != want {
			t.Errorf("in %d cells %q, want %q", width, got, want)
		}
	}
}

// TestRepliesAreShownAsTheyAreSorted checks that sessions with the same figure
// are equals when sorted.
func TestRepliesAreShownAsTheyAreSorted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		likely float64
		want   string
		left   float64
	}{
		{0.4, "due now", 0},
		{1.4, "≈1", 1},
		{21.6, "≈22", 22},
		{43.2, "≈43", 43},
		{999.4, "≈999", 999},
		{999.6, "≈1000+", 1000},
		{1e9, "≈1000+", 1000},
	} {
		s := &api.Session{State: "busy", Forecast: &api.Forecast{Replies: &api.Range{Likely: c.likely}}}
		if got := ansi.Strip(repliesCell(place{Session: s, width: 7})); got != c.want || urgency.Left(s) != c.left {
			t.Errorf("%v: shows %q and sorts by %v, want %q and %v", c.likely, got, urgency.Left(s), c.want, c.left)
		}
	}
}
