package top

import (
	"encoding/json"
	"strings"
	"testing"

	"sm/observer/api"
)

// TestSpent checks that unknown figures are left out, and words without room.
func TestSpent(t *testing.T) {
	t.Setenv("TZ", "UTC")
	limits := strings.NewReplacer(
		"FIVE", `{"used_ratio": 0.424, "resets_at": "2026-05-01T13:00:00Z"}`,
		"SEVEN", `{"used_ratio": 0.96, "resets_at": "2026-05-03T14:00:00Z"}`,
	)
	for _, c := range []struct {
		of    string
		width int
		want  string
	}{
		{`{}`, 80, ""},
		{`{"today": {"tokens": 950}}`, 80, "today 950 tokens"},
		{`{"today": {"tokens": 950, "cost_usd": 0}}`, 80, "today 950 tokens $0.00"},
		{
			`{"today": {"tokens": 950, "cost_usd": 3.2, "cost_since": "2026-05-01T13:00:00Z"}}`,
			80,
			"today 950 tokens $3.20 since 13:00",
		},
		{
			`{"today": {"tokens": 1908200000, "cost_usd": 3.2, "estimated_cost_usd": 1.2}}`,
			80,
			"today 1.9G tokens $3.20 ≈$1.20 est.",
		},
		{
			`{"today": {"tokens": 190, "estimated_cost_usd": 1.2, "unpriced": true}}`,
			80,
			"today 190 tokens ≥$1.20 est.",
		},
		{`{"rate_limits": {"five_hour": FIVE}}`, 80, "5 h limit 42% until 13:00"},
		{
			`{"today": {"tokens": 5000000, "cost_usd": 123.4}, "rate_limits": {"five_hour": FIVE, "seven_day": SEVEN}}`,
			90,
			"today 5M tokens $123  5 h limit 42% until 13:00  7 d limit 96% until Sun 14:00",
		},
		{
			`{"rate_limits": {"five_hour": FIVE, "codex": {"five_hour": SEVEN, "seven_day": FIVE}}}`,
			120,
			"5 h limit 42% until 13:00  Codex 5 h limit 96% until Sun 14:00  Codex 7 d limit 42% until 13:00",
		},
		{
			`{"rate_limits": {"five_hour": FIVE, "seven_day": SEVEN, "codex": {"five_hour": SEVEN, "seven_day": FIVE}}}`,
			60,
			"5 h 42%  7 d 96%  Codex 5 h 96%  Codex 7 d 42%",
		},
		{
			`{"rate_limits": {"five_hour": FIVE, "seven_day": SEVEN, "codex": {"five_hour": SEVEN, "seven_day": FIVE}}}`,
			40,
			"5 h 42%  7 d 96%  Codex 5 h 96%",
		},
		{
			`{"today": {"tokens": 5000000, "cost_usd": 123.4}, "rate_limits": {"five_hour": FIVE, "seven_day": SEVEN}}`,
			60,
			"today 5M tokens $123  5 h limit 42%  7 d limit 96%",
		},
		{
			`{"today": {"tokens": 5000000}, "rate_limits": {"seven_day": SEVEN}}`,
			12,
			"today 5M to…",
		},
		{
			`{"rate_limits": {"seven_day": SEVEN}}`,
			20,
			"\x1b[2m7 d\x1b[m\x1b[2m limit\x1b[m \x1b[31m96%\x1b[m",
		},
		{`{"today": {"tokens": 9223372036854775808}}`, 80, "today 4611686018.4G tokens"},
	} {
		var of api.Sessions
		if err := json.Unmarshal([]byte(limits.Replace(c.of)), &of); err != nil {
			t.Fatal(err)
		}
		if got := Spent(
			&of,
			topNow,
			c.width,
			strings.Contains(c.want, "\x1b"),
		); got != c.want {
			t.Errorf("%s: got %q, want %q", c.of, got, c.want)
		}
	}
}

// TestDollars checks that an amount fits into its column.
func TestDollars(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]string{
		0:       "$0.00",
		-1:      "$0.00",
		4.256:   "$4.26",
		99.5:    "$99.50",
		123.6:   "$124",
		99_999:  "$99999",
		250_000: "$250k",
		1e12:    "$99999k",
	} {
		if got := dollars(usd); got != want || len(got) > 7 {
			t.Errorf("%v: got %s, want %s", usd, got, want)
		}
	}
}
