package alerts

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"sm/transcript"
)

// wild returns events of an agent whose replies have sizes like those of public transcripts,
// up to compactions at 160,000 tokens: lognormal, with a mean that differs by cycle and
// changes after about 30 replies.
func wild(rng *rand.Rand, cycles int) (events []Event) {
	lognormal := func(mean, sigma float64) float64 {
		return mean * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2)
	}
	now := 0.0

	for c := range cycles {
		usual := lognormal(1250, 0.4)
		phase := usual
		for size := 20_000.0; size < 160_000; {
			now += 10
			if rng.IntN(30) == 0 {
				phase = lognormal(usual, 0.7)
			}
			size += lognormal(phase, 0.9)
			events = append(events, reading(now, int64(size)))
		}
		now++
		events = append(events, boundary(now, transcript.Key(c+1)))
	}
	return events
}

// TestForecastReplies tests by replies left before a compaction that the median error of
// forecasts has a bound, and that the range contains the truth in about four cases of five.
func TestForecastReplies(t *testing.T) {
	t.Parallel()
	bounds := map[int]float64{10: 0.55, 20: 0.50, 40: 0.42, 80: 0.30}
	errors := map[int][]float64{} // as shares of the truth
	within := map[int]int{}
	e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
	rng := rand.New(rand.NewPCG(11, 13))
	for i := range 200 {
		var forecasts []Range // after each reply of the cycle
		for _, ev := range wild(rng, 2) {
			ev.Agent = strconv.Itoa(i)
			e.Step(ev)
			if ev.Kind == EventReading {
				forecasts = append(forecasts, e.Agent(ev.Agent).Forecast.Replies)
				continue
			}
			for left := range bounds {
				from := len(forecasts) - 1 - left
				if from < 0 {
					continue
				}
				f := forecasts[from]
				truth := float64(left)
				errors[left] = append(errors[left], math.Abs(f.Likely-truth)/truth)
				if f.Low <= truth && truth <= f.High {
					within[left]++
				}
			}
			forecasts = nil
		}
	}
	for left, bound := range bounds {
		slices.Sort(errors[left])
		n := len(errors[left])
		median := errors[left][n/2]
		share := float64(within[left]) / float64(n)
		t.Logf("%d left: median error %.2f, %.2f are within (%d)", left, median, share, n)
		if median > bound || share < 0.7 || share > 0.9 {
			t.Errorf("%d left: want an error of at most %.2f, 0.7 to 0.9 within", left, bound)
		}
	}
}

// TestReplies tests that the range contains the figure, grows with the distance, and is known
// from the first reply on.
func TestReplies(t *testing.T) {
	t.Parallel()
	var last Range
	for _, rest := range []float64{1, 100, 1600, 10_000, 100_000, 1_000_000, 1e12} {
		r := around(rest / new(Growth).reply().Value)
		ordered := r.Low <= r.Likely && r.Likely <= r.High
		if !r.Known || !ordered || r.Likely < last.Likely || r.High > farthest {
			t.Errorf("%v tokens left: %+v after %+v", rest, r, last)
		}
		last = r
	}
}

// TestReplyMean tests that the mean follows the agent, is moved little by one huge reply, and
// stays positive.
func TestReplyMean(t *testing.T) {
	t.Parallel()
	const base = 1_000_000
	grow := func(steps ...int64) float64 {
		var g Growth
		now := Reading{At: 1, Tokens: base}
		for _, step := range steps {
			was := now
			now.Tokens += step
			g.step(was, now)
		}
		return g.reply().Value
	}
	many := func(n int, step int64) []int64 { return slices.Repeat([]int64{step}, n) }

	for _, c := range []struct {
		name      string
		steps     []int64
		low, high float64
	}{
		{"none", nil, usualGrowth, usualGrowth},
		{"quick", many(200, 5000), 4900, 5000},
		{"slow", many(200, 300), 300, 310},
		{"quick from the start", many(6, 12_000), 4000, 5000},
		{"one huge", []int64{500_000}, 1300, 1700},
		{"shrinking", many(100, -5000), 1e-9, 1},
	} {
		if got := grow(c.steps...); got < c.low || got > c.high {
			t.Errorf("%s: got %v, want %v to %v", c.name, got, c.low, c.high)
		}
	}
}
