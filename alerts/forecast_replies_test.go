package alerts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"sm/transcript"
	"sm/transcript/transcripttest"
)

// replyPoint is where an agent stood after a reply, with all that a forecast is made from.
type replyPoint struct {
	size   int64
	growth Growth
	usual  float64 // tokens that a reply adds, over all agents
	all    float64 // that the replies of this cycle have added in the mean
	bands  bands
	live   Range // as the engine says
}

// stretch are the replies of an agent between two compactions or clears; auto says that the client's own compaction
// ended it.
type stretch struct {
	points []replyPoint
	auto   bool
}

// stretches plays the traces one after the other through one engine, each as an agent of its own.
func stretches(t *testing.T, traces []trace, change ...func(*Options)) (all []stretch) {
	t.Helper()
	e := newEngine(t, change...)
	seen := map[int64]bool{} // copies of a stretch in another file
	for i, events := range traces {
		var now []replyPoint
		end := func(auto bool) {
			if n := len(now); n > 0 && !seen[now[0].size<<32+now[n-1].size] {
				seen[now[0].size<<32+now[n-1].size] = true
				all = append(all, stretch{now, auto})
			}
			now = nil
		}
		for _, ev := range events {
			ev.Agent = AgentID(strconv.Itoa(i))
			e.Step(ev)
			switch ev.Kind {
			case EventReading:
				if n := len(now); n > 0 && ev.Tokens < now[n-1].size/2 {
					end(false)
				}
				if n := len(now); n == 0 || now[n-1].size != ev.Tokens {
					p := replyPoint{
						size: ev.Tokens, growth: e.agents[ev.Agent].Growth, usual: e.forecaster.usual(), bands: e.forecaster.bands,
						live: viewOf(t, e, ev.Agent).Forecast.Replies,
					}
					if n > 0 {
						p.all = float64(ev.Tokens-now[0].size) / float64(n)
					}
					now = append(now, p)
				}
			case EventCompacted:
				end(ev.Trigger == transcript.Auto)
			}
		}
		end(false)
	}
	return all
}

func viewOf(t *testing.T, e *Engine, id AgentID) View {
	t.Helper()
	v, ok := e.Agent(id)
	if !ok {
		t.Fatal("no such agent")
	}
	return v
}

// replyScore says how good forecasts are that were made when so many replies were left; naive is the error of those that
// go by the mean growth of the cycle.
type replyScore struct {
	forecasts, within     int
	errors, widths, naive []float64
}

func (s *replyScore) add(f Range, naive float64, left int) {
	s.forecasts++
	if f.Low <= float64(left) && float64(left) <= f.High {
		s.within++
	}
	s.errors = append(s.errors, relative(f.Likely, f.Known, left))
	s.naive = append(s.naive, relative(naive, naive > 0, left))
	if f.Likely > 0 {
		s.widths = append(s.widths, (f.High-f.Low)/f.Likely)
	}
}

func (s *replyScore) share() float64 { return float64(s.within) / float64(s.forecasts) }

func (s *replyScore) String() string {
	if s.forecasts == 0 {
		return "-"
	}
	return fmt.Sprintf("%3.0f%% off (by the cycle's mean growth %3.0f%%), %3.0f%% within, width %.2f (%d)",
		100*median(s.errors), 100*median(s.naive), 100*s.share(), median(s.widths), s.forecasts)
}

// compactedReplies measures the engine's own forecasts before automatic compactions.
func compactedReplies(all []stretch, left int) *replyScore {
	s := &replyScore{}
	for _, x := range all {
		last := len(x.points) - 1
		if from := last - left; x.auto && from >= 0 {
			p := &x.points[from]
			s.add(p.live, float64(x.points[last].size-p.size)/p.all, left)
		}
	}
	return s
}

// everySize measures forecasts of when a context would have reached each of the sizes, 5,000 tokens apart, that it came
// to: a client with that threshold would have compacted it then.
func everySize(all []stretch, left int) *replyScore {
	s := &replyScore{}
	for _, x := range all {
		if len(x.points) < 12 {
			continue
		}
		target := int64(80_000)
		for i, p := range x.points {
			for ; target <= p.size; target += 5000 {
				if from := i - left; from >= 0 && x.points[from].size < target {
					p, rest := &x.points[from], float64(target-x.points[from].size)
					f, _ := p.growth.trend(rest, p.usual)
					s.add(p.bands.around(f), rest/p.all, left)
				}
			}
		}
	}
	return s
}

// compactedAt has each context compacted by itself when it reaches a size, as a client with that threshold would have: what
// comes until the next compaction or clear is left out.
func compactedAt(traces []trace, size int64) (all []trace) {
	key := transcript.Key(1)
	for _, events := range traces {
		var kept trace
		over, last := false, int64(0)
		for _, ev := range events {
			fresh := ev.Kind == EventReading && ev.Tokens < last/2
			if ev.Kind == EventReading {
				last = ev.Tokens
			}
			switch {
			case ev.Kind == EventCompacted && over:
				over = false
			case over && !fresh:
			case ev.Kind == EventReading && ev.Tokens >= size:
				end := Event{Agent: ev.Agent, At: ev.At.Add(1), Kind: EventCompacted, Sign: SignBoundary, Key: key, Trigger: transcript.Auto, PreTokens: ev.Tokens}
				kept, over = append(kept, ev, end), true
				key++
			default:
				kept, over = append(kept, ev), false
			}
		}
		all = append(all, kept)
	}
	return all
}

// leftOf are the numbers of replies left that forecasts are judged by, with the median error that is promised.
func leftOf() map[int]float64 { return map[int]float64{10: 0.55, 20: 0.48, 40: 0.40, 80: 0.35} }

// TestForecastReplies prints how far forecasts of replies are off, and holds those of generated fleets and of public
// transcripts to what is promised: the range holds the truth about four times out of five, and is at most 2.2 times the
// figure wide.
func TestForecastReplies(t *testing.T) {
	t.Parallel()
	hold := func(name string, s *replyScore, left int) {
		t.Logf("%-22s %2d left: %s", name, left, s)
		if got := median(s.errors); got > leftOf()[left] {
			t.Errorf("%s: median error %.2f with %d left, want at most %.2f", name, got, left, leftOf()[left])
		}
		if width := median(s.widths); width > 2.2 {
			t.Errorf("%s: median width %.2f with %d left", name, width, left)
		}
	}
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{Seed: 1, Bytes: 32 << 20, LineBytes: 500, Start: epoch}); err != nil {
		t.Fatal(err)
	}
	fleet := stretches(t, scripts(t, dir))
	for _, left := range []int{10, 20, 40, 80} {
		t.Logf("generated, compacted   %2d left: %s", left, compactedReplies(fleet, left))
		hold("generated, every size", everySize(fleet, left), left)
	}
	corpus := os.Getenv("SM_CORPUS")
	if corpus == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	traces := scripts(t, corpus)
	for _, size := range []int64{70_000, 90_000, 110_000, 130_000} {
		as := stretches(t, compactedAt(traces, size), func(o *Options) { o.CompactionThreshold = size })
		for _, left := range []int{10, 20, 40, 80} {
			t.Logf("public, as if at %3dk   %2d left: %s", size/1000, left, compactedReplies(as, left))
		}
	}
	public := stretches(t, traces)
	for _, left := range []int{10, 20, 40, 80} {
		t.Logf("public, compacted      %2d left: %s", left, compactedReplies(public, left))
		s := everySize(public, left)
		hold("public, every size", s, left)
		most := 0.05
		if left == 80 { // few contexts last that long
			most = 0.1
		}
		if math.Abs(s.share()-0.8) > most {
			t.Errorf("with %d left %.2f are within", left, s.share())
		}
	}
}

// usualReplies is the forecast of a machine that has taught nothing yet.
func usualReplies(g *Growth, rest float64) Range {
	var c Calibration
	f, _ := g.trend(rest, c.usual())
	b := bandsOf(c.sorted())
	return b.around(f)
}

// TestReplies: the range holds the figure, grows with the way, and is known from the first reply on.
func TestReplies(t *testing.T) {
	t.Parallel()
	replies := usualReplies
	var last Range
	for _, rest := range []float64{1, 100, 1600, 10_000, 100_000, 1_000_000, 1e12} {
		r := replies(new(Growth), rest)
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
	if q, s := replies(&quick, 50_000).Likely, replies(&slow, 50_000).Likely; q*2 > s {
		t.Errorf("an agent that grows quickly has %.1f replies left, a slow one %.1f", q, s)
	}
	if !slices.IsSorted([]float64{replies(&quick, 1000).Low, replies(&quick, 9000).Low, replies(&quick, 90_000).Low}) {
		t.Error("the low end does not grow with the way")
	}
}

// wild has an agent fill cycles of 160,000 tokens by steps of a lognormal size, times a factor that is the agent's own.
func wild(rng *rand.Rand, factor, sigma float64, cycles int) (events []Event) {
	now := 0.0
	for c := range cycles {
		for size := 20_000.0; size < 160_000; {
			now += 10
			size += 1600 * factor * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2)
			events = append(events, reading(now, int64(size)))
		}
		now++
		events = append(events, boundary(now, transcript.Key(c+1)))
	}
	return events
}

// TestCalibration: whatever the agents of a machine do, after 30 cycles the range holds the truth in four cases of five, and
// it is as narrow as these agents allow.
func TestCalibration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		factor, sigma float64
		width         float64 // at most, with 20 left
	}{
		{"regular", 1, 0.3, 0.5},
		{"quick", 3, 0.6, 1.5},
		{"wild", 0.7, 1.2, 2.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(11, 13))
			var traces []trace
			for range 120 {
				traces = append(traces, wild(rng, c.factor, c.sigma, 3))
			}
			e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
			var late, early replyScore
			cycles := 0
			for i, events := range traces {
				var now []Range
				for _, ev := range events {
					ev.Agent = AgentID(strconv.Itoa(i))
					e.Step(ev)
					switch ev.Kind {
					case EventReading:
						now = append(now, viewOf(t, e, ev.Agent).Forecast.Replies)
					case EventCompacted:
						s := &late
						if cycles++; cycles <= errorsNeeded {
							s = &early
						}
						if from := len(now) - 21; from >= 0 {
							s.add(now[from], 0, 20)
						}
						now = nil
					}
				}
			}
			t.Logf("before: %s; after: %s", &early, &late)
			if got := late.share(); got < 0.74 || got > 0.86 {
				t.Errorf("%.2f of %d are within", got, late.forecasts)
			}
			if got := median(late.widths); got > c.width {
				t.Errorf("width %.2f, want at most %.2f", got, c.width)
			}
		})
	}
}
