package transcript

import "testing"

func TestPrices(t *testing.T) {
	t.Parallel()
	prices := Prices{{"claude", 1, 0, 0, 0}, {"claude-opus", 5, 10, 0.5, 25}, {"claude-o", 2, 0, 0, 0}}
	used := Usage{1e6, 2e5, 4e6, 1e5}
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
