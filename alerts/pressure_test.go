package alerts

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPressureOf(t *testing.T) {
	t.Parallel()
	type result struct {
		Ratio float64
		Is    string
	}
	for name, test := range map[string]struct {
		context, cleared, threshold int64
		want                        result
	}{
		"empty":                   {0, 0, 167_000, result{0, "calm"}},
		"just calm":               {100_199, 0, 167_000, result{100_199 / 167_000.0, "calm"}},
		"rising":                  {60, 0, 100, result{0.6, "rising"}},
		"high":                    {78, 0, 100, result{0.78, "high"}},
		"high by what is cleared": {50, 28, 100, result{0.78, "high"}},
		"imminent":                {95, 0, 100, result{0.95, "imminent"}},
		"late":                    {120, 0, 100, result{1.2, "imminent"}},
		"no threshold":            {120, 0, 0, result{0, ""}},
		"nonsense":                {-1, 0, 100, result{0, ""}},
		"as large as can be": {
			math.MaxInt64,
			math.MaxInt64,
			1,
			result{2 * float64(math.MaxInt64), "imminent"},
		},
	} {
		ratio, is := PressureOf(test.context, test.cleared, test.threshold)
		if diff := cmp.Diff(test.want, result{ratio, is.String()}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
