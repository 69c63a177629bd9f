package alerts

import (
	"testing"

	"sm/transcript"
)

func TestLevel(t *testing.T) {
	percent := Thresholds{WarningPercentage: 50, CriticalPercentage: 65, EarlyRatio: 0.8}
	tokens := Thresholds{
		WarningPercentage:  50,
		CriticalPercentage: 65,
		WarningTokens:      90_000,
		CriticalTokens:     95_000,
	}
	both := Thresholds{
		WarningPercentage:   50,
		CriticalPercentage:  65,
		WarningOfThreshold:  60,
		CriticalOfThreshold: 78,
		EarlyRatio:          0.8,
	}
	late := both
	late.WarningTokens = 180_000
	late.CriticalTokens = 190_000
	for _, c := range []struct {
		t                  Thresholds
		tokens, window, at int64
		want               Level
	}{
		{percent, 79_199, 200_000, 0, OK},
		{percent, 79_200, 200_000, 0, EarlyWarn},
		{percent, 99_000, 200_000, 0, Warn},
		{percent, 129_000, 200_000, 0, Critical},
		{percent, 2, 3, 0, Critical},
		{percent, 1, 3, 0, OK},
		{percent, 150_000, 0, 0, OK},
		{tokens, 89_999, 1_000_000, 0, OK},
		{tokens, 90_000, 0, 0, Warn},
		{both, 98_999, 200_000, 167_000, EarlyWarn},
		{both, 99_000, 200_000, 167_000, Warn},
		{both, 128_999, 200_000, 167_000, Warn},
		{both, 129_000, 200_000, 167_000, Critical},
		{both, 32_159, 200_000, 67_000, OK},
		{both, 32_160, 200_000, 67_000, EarlyWarn},
		{both, 40_199, 200_000, 67_000, EarlyWarn},
		{both, 40_200, 200_000, 67_000, Warn},
		{both, 52_259, 200_000, 67_000, Warn},
		{both, 52_260, 200_000, 67_000, Critical},
		{both, 60, 0, 100, Warn},
		{both, 59, 0, 99, EarlyWarn},
		{both, 60, 0, 99, Warn},
		{both, 150_000, 0, 0, OK},
		{late, 40_200, 200_000, 67_000, Warn},
		{late, 180_000, 200_000, 0, Warn},
		{percent, 98_999, 200_000, 67_000, EarlyWarn},
		{Thresholds{
			WarningOfThreshold:  60,
			CriticalOfThreshold: 78,
		}, 99, 100, 100, OK},
		{Thresholds{CriticalTokens: 10}, 9, 0, 0, OK},
		{Thresholds{}, 1e9, 200_000, 0, OK},
	} {
		if got := c.t.Level(c.tokens, 0, transcript.Window{
			Tokens: c.window,
		}, c.at); got != c.want {
			t.Errorf("%+v: %d of %d is %s, want %s", c.t, c.tokens, c.window, got, c.want)
		}
	}
}
