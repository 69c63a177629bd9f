package top

import (
	"testing"
	"time"

	"sm/observer/api"
)

// TestSpent checks that unknown figures are left out, and words for which there
// is no room.
func TestSpent(t *testing.T) {
	t.Setenv("TZ", "UTC")
	five := &api.RateLimit{UsedRatio: 0.424, ResetsAt: topNow.Add(time.Hour)}
	seven := &api.RateLimit{UsedRatio: 0.96, ResetsAt: topNow.Add(50 * time.Hour)}
	for _, c := range []struct {
		name   string
		of     api.Sessions
		width  int
		colour bool
		want   string
	}{
		{"nothing", api.Sessions{}, 80, false, ""},
		{"tokens alone", api.Sessions{Today: api.Today{Tokens: 950}}, 80, false, "today 950 tokens"},
		{"a cost of nothing yet", api.Sessions{
			Today: api.Today{Tokens: 950, CostUSD: new(0.0)},
		}, 80, false, "today 950 tokens $0.00"},
		{"a cost of part of the day", api.Sessions{
			Today: api.Today{Tokens: 950, CostUSD: new(3.2), CostSince: new(topNow.Add(time.Hour))},
		}, 80, false, "today 950 tokens $3.20 since 13:00"},
		{"a limit alone", api.Sessions{
			RateLimits: api.RateLimits{FiveHour: five},
		}, 80, false, "5 h limit 42% until 13:00"},
		{"all", api.Sessions{
			Today:      api.Today{Tokens: 5e6, CostUSD: new(123.4)},
			RateLimits: api.RateLimits{FiveHour: five, SevenDay: seven},
		}, 90, false,
			"today 5M tokens $123  5 h limit 42% until 13:00  7 d limit 96% until Sun 14:00"},
		{"of both clients", api.Sessions{
			RateLimits: api.RateLimits{FiveHour: five, Codex: &api.RateLimits{FiveHour: seven, SevenDay: five}},
		}, 120, false,
			"5 h limit 42% until 13:00  Codex 5 h limit 96% until Sun 14:00  Codex 7 d limit 42% until 13:00"},
		{"of both clients in less room", api.Sessions{
			RateLimits: api.RateLimits{
				FiveHour: five,
				SevenDay: seven,
				Codex:    &api.RateLimits{FiveHour: seven, SevenDay: five},
			},
		}, 60, false,
			"5 h 42%  7 d 96%  Codex 5 h 96%  Codex 7 d 42%"},
		{"in less room", api.Sessions{
			Today:      api.Today{Tokens: 5e6, CostUSD: new(123.4)},
			RateLimits: api.RateLimits{FiveHour: five, SevenDay: seven},
		}, 60, false,
			"today 5M tokens $123  5 h limit 42%  7 d limit 96%"},
		{"in hardly any", api.Sessions{
			Today:      api.Today{Tokens: 5e6},
			RateLimits: api.RateLimits{SevenDay: seven},
		}, 12, false, "today 5M to…"},
		{"in colour", api.Sessions{
			RateLimits: api.RateLimits{SevenDay: seven},
		}, 20, true, "\x1b[2m7 d limit \x1b[m\x1b[31m96%\x1b[m"},
		{"more tokens than there can be", api.Sessions{
			Today: api.Today{Tokens: 1 << 63},
		}, 80, false, "today 4611686018427.4M tokens"},
	} {
		if got := Spent(&c.of, topNow, c.width, c.colour); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
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
			t.Errorf("%v: %s, want %s", usd, got, want)
		}
	}
}
