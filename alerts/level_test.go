package alerts

import (
	"strings"
	"testing"
)

func TestLevel(t *testing.T) {
	percent := Thresholds{WarningPercentage: 50, CriticalPercentage: 65, EarlyRatio: 0.8}
	tokens := Thresholds{WarningPercentage: 50, CriticalPercentage: 65, WarningTokens: 90_000, CriticalTokens: 95_000}
	for _, c := range []struct {
		t              Thresholds
		tokens, window int64
		want           Level
	}{
		{percent, 79_999, 200_000, OK}, {percent, 80_000, 200_000, EarlyWarn}, {percent, 99_999, 200_000, EarlyWarn},
		{percent, 100_000, 200_000, Warn}, {percent, 130_000, 200_000, Critical}, {percent, 500_000, 1_000_000, Warn},
		{percent, 2, 3, Critical}, {percent, 1, 3, OK}, {percent, 150_000, 0, OK},
		{tokens, 89_999, 1_000_000, OK}, {tokens, 90_000, 0, Warn}, {tokens, 95_000, 200_000, Critical},
		{Thresholds{CriticalTokens: 10}, 9, 0, OK}, {Thresholds{}, 1e9, 200_000, OK},
	} {
		if got := c.t.Level(c.tokens, c.window); got != c.want {
			t.Errorf("%+v: %d of %d is %s, want %s", c.t, c.tokens, c.window, got, c.want)
		}
	}
	var words []string
	for _, l := range Levels() {
		words = append(words, l.String())
	}
	if got := strings.Join(words, " "); got != "ok early_warn warn critical" {
		t.Error(got)
	}
}
