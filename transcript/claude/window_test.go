package claude

import (
	"testing"

	"sm/transcript"
)

func TestWindowChain(t *testing.T) {
	rules := []transcript.WindowRule{{
		Model:  "claude-none",
		Tokens: 0,
	}, {
		Model:  "claude-opus-4",
		Tokens: 300_000,
	}, {
		Model:  "",
		Tokens: 400_000,
	}}
	tests := map[string]struct {
		model      string
		peak       int64
		statusline int64
		rules      []transcript.WindowRule
		tokens     int64
		source     transcript.WindowSource
	}{
		"status line before everything": {"claude-opus-4-8", 900_000, 250_000, rules, 250_000, transcript.WindowStatusline},
		"rule before the observed size": {"claude-opus-4-8", 900_000, 0, rules, 300_000, transcript.WindowConfig},
		"first rule that fits":          {"claude-sonnet-5", 0, 0, rules, 400_000, transcript.WindowConfig},
		"rule without a size":           {"claude-none", 0, 0, rules[:1], 200_000, transcript.WindowDefault},
		"no rule without a model":       {"", 0, 0, rules, 200_000, transcript.WindowDefault},
		"seen beyond the small window":  {"claude-haiku-4-5", 200_001, 0, nil, 1_000_000, transcript.WindowObserved},
		"seen up to the small window":   {"claude-opus-9", 200_000, 0, nil, 200_000, transcript.WindowDefault},
		"model":                         {"claude-opus-4-8", 0, 0, nil, 1_000_000, transcript.WindowModel},
		"model with a date":             {"claude-sonnet-4-5-20250929", 0, 0, nil, 200_000, transcript.WindowModel},
		"model with a suffix":           {"claude-sonnet-5[1m]", 0, 0, nil, 1_000_000, transcript.WindowModel},
		"model of a cloud":              {"claude-opus-4-8@20260101", 0, 0, nil, 1_000_000, transcript.WindowModel},
		"longer name":                   {"claude-opus-4-80", 0, 0, nil, 200_000, transcript.WindowDefault},
		"unknown":                       {"gpt", 0, 0, nil, 200_000, transcript.WindowDefault},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := WindowOf(&transcript.Session{
				Model: test.model,
				Peak:  test.peak,
			}, test.statusline, test.rules)
			if want := (transcript.Window{Tokens: test.tokens, Source: test.source}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestPercent(t *testing.T) {
	tests := []struct {
		window, tokens int64
		want           int
	}{
		{
			200_000,
			0,
			0,
		},
		{
			200_000,
			-5,
			0,
		},
		{
			0,
			5,
			0,
		},
		{
			-1,
			5,
			0,
		},
		{
			200_000,
			999,
			0,
		},
		{
			200_000,
			1000,
			1,
		},
		{
			200_000,
			2999,
			1,
		},
		{
			200_000,
			3000,
			2,
		},
		{
			200_000,
			198_999,
			99,
		},
		{
			200_000,
			199_000,
			100,
		},
		{
			200_000,
			200_000,
			100,
		},
		{
			200_000,
			900_000,
			100,
		},
		{
			3,
			1,
			33,
		},
		{
			3,
			2,
			67,
		},
		{
			1_000_000,
			3_000_000_000,
			100,
		},
	}
	for _, test := range tests {
		if got := (transcript.Window{
			Tokens: test.window,
		}).Percent(test.tokens); got != test.want {
			t.Errorf("%d of %d: %d %%, want %d", test.tokens, test.window, got, test.want)
		}
	}
}
