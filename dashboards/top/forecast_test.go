package top

import (
	"encoding/json"
	"testing"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// TestForecastTexts checks that forecasts are in replies, minutes and turns, and
// shorter in a narrow column.
func TestForecastTexts(t *testing.T) {
	t.Parallel()
	forty := `"replies": {"low": 25, "likely": 40.4, "high": 70}`
	all := "{" + forty + `, "turns": {"low": 2, "likely": 2.6, "high": 9}, "seconds": {"likely": 720}}`
	parsed := func(text string) (f *api.Forecast) {
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for text, want := range map[string]string{
		all: "≈ 40 replies, 25–70; about 12 min; 3 turns",
		`{"replies": {"low": 0.3, "likely": 1, "high": 3}, "turns": {"likely": 1}, "seconds": {"likely": 12}}`: "≈ 1 reply, 0–3; about 1 min; 1 turn",
		"{" + forty + "}": "≈ 40 replies, 25–70",
		"{" + forty + `, "seconds": {"likely": 10800}}`:  "≈ 40 replies, 25–70; about 3 h",
		"{" + forty + `, "seconds": {"likely": 259200}}`: "≈ 40 replies, 25–70; about 3 days",
		"null": "",
	} {
		got := ""
		for _, f := range Fields(api.Session{Forecast: parsed(text)}, topNow) {
			if f[0] == "forecast" {
				got = f[1]
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for width, want := range map[int]string{
		7:  "≈40",
		10: "≈40",
		11: "≈ 40, 25–70",
		18: "≈ 40, 25–70",
		19: "≈ 40, 25–70; 12 min",
	} {
		s := &api.Session{Forecast: parsed(all)}
		if got := newList(nil, false, topNow).cell("REPLIES", s, width); got != want {
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
		s := &api.Session{
			State:    "busy",
			Forecast: &api.Forecast{Replies: &api.Range{Likely: c.likely}},
		}
		got := newList(nil, false, topNow).cell("REPLIES", s, 7)
		if got != c.want || urgency.Left(s) != c.left {
			t.Errorf(
				"%v: shows %q and sorts by %v, want %q and %v",
				c.likely,
				got,
				urgency.Left(s),
				c.want,
				c.left,
			)
		}
	}
}
