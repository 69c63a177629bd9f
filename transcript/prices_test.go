package transcript

import "testing"

func TestPrices(t *testing.T) {
	t.Parallel()
	prices := Prices{
		{Model: "claude", Input: 1},
		{
			Model:      "claude-opus",
			Input:      5,
			CacheWrite: 10,
			CacheRead:  0.5,
			Output:     25,
		},
		{Model: "claude-o", Input: 2},
	}
	used := Usage{
		Input:         1_000_000,
		CacheCreation: 200_000,
		CacheRead:     4_000_000,
		Output:        100_000,
	}
	for model, want := range map[string]float64{
		"claude-opus-4-8":   5 + 2 + 2 + 2.5,
		"claude-sonnet-4-6": 1 + 0.2 + 4, // the cache costs the same as other input
		"gpt-6-sol":         -1,
		"":                  -1,
	} {
		if got, ok := prices.Cost(model, used); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", model, got, ok, want)
		}
	}
}
