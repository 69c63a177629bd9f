package alerts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"sm/transcript"
	"sm/transcript/transcripttest"
)

// replyPoint is where an agent stood after a reply, with what was known of its growth.
type replyPoint struct {
	size   int64
	growth Growth
}

// replyPoints are the stretches of a trace between two compactions or clears, reply by reply; auto says that the
// client's own compaction ended it.
func replyPoints(t *testing.T, events trace) (all [][]replyPoint, auto []bool) {
	e := newEngine(t)
	var now []replyPoint
	end := func(by bool) {
		if len(now) > 0 {
			all, auto, now = append(all, now), append(auto, by), nil
		}
	}
	for _, ev := range events {
		e.Step(ev)
		switch ev.Kind {
		case EventReading:
			if n := len(now); n > 0 && ev.Tokens < now[n-1].size/2 {
				end(false)
			}
			if n := len(now); n == 0 || now[n-1].size != ev.Tokens {
				now = append(now, replyPoint{ev.Tokens, e.agents["a"].Growth})
			}
		case EventCompacted:
			end(ev.Trigger == transcript.Auto)
		}
	}
	end(false)
	return all, auto
}

// replyScore says how good forecasts are that were made when so many replies were left.
type replyScore struct {
	forecasts, within int
	errors, widths    []float64
}

func (s *replyScore) add(f Range, left int) {
	s.forecasts++
	if f.Low <= float64(left) && float64(left) <= f.High {
		s.within++
	}
	s.errors = append(s.errors, math.Abs(f.Likely-float64(left))/float64(left))
	s.widths = append(s.widths, (f.High-f.Low)/f.Likely)
}

func (s *replyScore) String() string {
	if s.forecasts == 0 {
		return "-"
	}
	return fmt.Sprintf("%3.0f%% off, %3d%% within, width %.2f (%d)", 100*median(s.errors), 100*s.within/s.forecasts, median(s.widths), s.forecasts)
}

// scoreReplies measures forecasts with so many replies left. Besides the sizes at which clients compacted any size
// counts, with virtual, that a reply was the first to reach: a context of another threshold would have ended there.
func scoreReplies(t *testing.T, traces []trace, left int, virtual bool) *replyScore {
	s := &replyScore{}
	rng := rand.New(rand.NewPCG(3, 3))
	seen := map[int64]bool{} // copies of a stretch in another file
	for _, events := range traces {
		stretches, auto := replyPoints(t, events)
		for k, points := range stretches {
			key := points[0].size<<32 + points[len(points)-1].size
			if seen[key] || len(points) < 12 {
				continue
			}
			seen[key] = true
			record := int64(0)
			for i, p := range points {
				was := record
				record = max(record, p.size)
				from := i - left
				if from < 3 || p.size <= was {
					continue
				}
				target := max(was, points[from].size) + int64(rng.Float64()*float64(p.size-max(was, points[from].size)))
				if !virtual {
					if i != len(points)-1 || !auto[k] {
						continue
					}
					target = p.size
				}
				if rest := float64(target - points[from].size); rest > 0 {
					s.add(points[from].growth.reach(rest).Replies, left)
				}
			}
		}
	}
	return s
}

// TestForecastReplies prints how far forecasts of replies are off, and holds the generated fleets to what is promised:
// the range holds the truth about four times out of five, and is at most 2.2 times the figure wide.
func TestForecastReplies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{Seed: 1, Bytes: 16 << 20, LineBytes: 500, Start: epoch}); err != nil {
		t.Fatal(err)
	}
	fleet := scripts(t, dir)
	for _, left := range []int{10, 20, 40, 80} {
		t.Logf("generated, %2d left: %s", left, scoreReplies(t, fleet, left, true))
	}
	corpus := os.Getenv("SM_CORPUS")
	if corpus == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	public := scripts(t, corpus)
	most := map[int]float64{10: 0.55, 20: 0.48, 40: 0.40, 80: 0.35}
	for _, left := range []int{10, 20, 40, 80} {
		t.Logf("compacted, %2d left: %s", left, scoreReplies(t, public, left, false))
		s := scoreReplies(t, public, left, true)
		t.Logf("any size,  %2d left: %s", left, s)
		if got := median(s.errors); got > most[left] {
			t.Errorf("median error %.2f with %d left, want at most %.2f", got, left, most[left])
		}
		if width := median(s.widths); width > 2.2 {
			t.Errorf("median width %.2f with %d left", width, left)
		}
	}
}

// TestReplies: the range holds the figure, grows with the way, and is known from the first reply on.
func TestReplies(t *testing.T) {
	t.Parallel()
	var last Range
	for _, rest := range []float64{1, 100, 1600, 10_000, 100_000, 1_000_000, 1e12} {
		r := new(Growth).reach(rest).Replies
		if !r.Known || !(r.Low <= r.Likely && r.Likely <= r.High) || r.Likely < last.Likely || r.High > farthest {
			t.Errorf("%v tokens left: %+v after %+v", rest, r, last)
		}
		last = r
	}
	var quick, slow Growth
	for range 100 {
		quick.Cycle.Steps.add(5000, stepFade)
		slow.Cycle.Steps.add(300, stepFade)
	}
	if q, s := quick.reach(50_000).Replies.Likely, slow.reach(50_000).Replies.Likely; q*2 > s {
		t.Errorf("an agent that grows quickly has %.1f replies left, a slow one %.1f", q, s)
	}
	if !slices.IsSorted([]float64{quick.reach(1000).Replies.Low, quick.reach(9000).Replies.Low, quick.reach(90_000).Replies.Low}) {
		t.Error("the low end does not grow with the way")
	}
}
