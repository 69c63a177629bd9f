package alerts

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
)

// trace is the events of one agent, for measuring its forecasts.
type trace []Event

// script reads the transcript of one session.
func script(b []byte, name string) trace {
	var events trace
	var e transcript.Entry
	f := claude.NewFold(name, false)
	for line := range bytes.Lines(b) {
		if fresh, err := f.Line(
			bytes.TrimSuffix(line, []byte{'\n'}),
			len(line),
			&e,
		); err != nil ||
			!fresh {
			continue
		}
		ev := Event{Agent: "a", At: e.At.Time()}
		switch e.Kind {
		case transcript.KindReading:
			ev.Kind = EventReading
			ev.Tokens = e.Context
			ev.Model = string(e.Model)
			ev.Window = window
		case transcript.KindBoundary:
			ev.Kind = EventCompacted
			ev.Sign = SignBoundary
			ev.Key = e.UUID
			ev.Trigger = e.Trigger
			ev.PreTokens = e.PreTokens
		case transcript.KindTurnStart:
			ev.Kind = EventTurnStart
		case transcript.KindTurnEnd:
			ev.Kind = EventTurnEnd
		default:
			continue
		}
		events = append(events, ev)
	}
	for i := range events { // the version may be known only later
		ev := &events[i]
		ev.CompactsAt = new(claude.AutoCompact).CompactsAt(window, ev.Model, f.Sum().Version)
	}
	return events
}

// scripts reads all sessions below a directory; subagents' files are none.
func scripts(t *testing.T, dir string) (all []trace) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || !strings.HasSuffix(name, ".jsonl") ||
			strings.HasPrefix(name, "agent-") {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, script(b, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// relative is the error of a forecast as a share of what was true; one that does
// not know counts as wrong by everything.
func relative(got float64, known bool, want int) float64 {
	if !known {
		return 1
	}
	return math.Abs(got-float64(want)) / float64(want)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	return (x[(n-1)/2] + x[n/2]) / 2
}

// replyPoint is an agent after a reply.
type replyPoint struct {
	size   int64
	growth Growth
	live   Range // the engine's forecast
}

// stretch is the replies of an agent between two compactions or clears. auto means
// that an automatic compaction ended it.
type stretch struct {
	points []replyPoint
	auto   bool
}

// stretches plays the traces one after the other through one engine, each as an
// agent of its own. A copy of a stretch in another file is left out.
func stretches(t *testing.T, traces []trace, change ...func(*Options)) (all []stretch) {
	t.Helper()
	e := newEngine(t, change...)
	seen := map[[2]int64]bool{}

	for i, events := range traces {
		var now []replyPoint
		end := func(auto bool) {
			n := len(now)
			if n == 0 {
				return
			}
			if ends := [2]int64{now[0].size, now[n-1].size}; !seen[ends] {
				seen[ends] = true
				all = append(all, stretch{now, auto})
			}
			now = nil
		}

		for _, ev := range events {
			ev.Agent = strconv.Itoa(i)
			e.Step(ev)
			if ev.Kind == EventCompacted {
				end(ev.Trigger == transcript.Auto)
			}
			if ev.Kind != EventReading {
				continue
			}

			if n := len(now); n > 0 && ev.Tokens < now[n-1].size/2 {
				end(false)
			}
			if n := len(now); n > 0 && now[n-1].size == ev.Tokens {
				continue
			}
			now = append(now, replyPoint{
				size:   ev.Tokens,
				growth: e.agents[ev.Agent].Growth,
				live:   viewOf(t, e, ev.Agent).Forecast.Replies,
			})
		}
		end(false)
	}
	return all
}

func viewOf(t *testing.T, e *Engine, id string) View {
	t.Helper()
	v := e.Agent(id)
	if v.Cycle == 0 {
		t.Fatal("no such agent")
	}
	return v
}

// replyScore measures forecasts made when so many replies were left.
type replyScore struct {
	errors []float64
	within int
}

func (s *replyScore) add(f Range, left int) {
	s.errors = append(s.errors, relative(f.Likely, f.Known, left))
	if f.Low <= float64(left) && float64(left) <= f.High {
		s.within++
	}
}

func (s *replyScore) share() float64 { return float64(s.within) / float64(len(s.errors)) }

func (s *replyScore) String() string {
	return fmt.Sprintf("median error %.2f, %.0f%% within (%d)",
		median(s.errors), 100*s.share(), len(s.errors))
}

// compactedReplies measures the engine's own forecasts before automatic
// compactions.
func compactedReplies(all []stretch, left int) *replyScore {
	s := &replyScore{}
	for _, x := range all {
		if from := len(x.points) - 1 - left; x.auto && from >= 0 {
			s.add(x.points[from].live, left)
		}
	}
	return s
}

// everySize measures forecasts of when a context reaches each of the sizes, 5,000
// tokens apart, that it came to: a client with that threshold would have compacted
// it then.
func everySize(all []stretch, left int) *replyScore {
	s := &replyScore{}
	for _, x := range all {
		if len(x.points) < 12 {
			continue
		}

		target := int64(80_000)
		for i, p := range x.points {
			for ; target <= p.size; target += 5000 {
				from := i - left
				if from < 0 || x.points[from].size >= target {
					continue
				}
				p := &x.points[from]
				s.add(around(float64(target-p.size)/p.growth.reply().Value), left)
			}
		}
	}
	return s
}

// wild is an agent whose replies add sizes like those of public transcripts, up to
// compactions at 160,000 tokens: lognormal, with a mean that differs by cycle and
// changes after some 30 replies.
func wild(rng *rand.Rand, cycles int) (events trace) {
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

// TestForecastReplies: by replies left, the median error of forecasts has a bound,
// and the range holds the truth in about four cases of five.
func TestForecastReplies(t *testing.T) {
	t.Parallel()
	bounds := []struct {
		left  int
		error float64
	}{
		{10, 0.55},
		{20, 0.50},
		{40, 0.42},
		{80, 0.30},
	}
	hold := func(name string, measure func(left int) *replyScore) {
		for _, b := range bounds {
			s := measure(b.left)
			t.Logf("%s, %d left: %s", name, b.left, s)
			if got := median(s.errors); !(got <= b.error) {
				t.Errorf(
					"%s, %d left: median error %.2f, want at most %.2f",
					name,
					b.left,
					got,
					b.error,
				)
			}
			if got := s.share(); !(got >= 0.7 && got <= 0.9) {
				t.Errorf("%s, %d left: %.2f are within", name, b.left, got)
			}
		}
	}

	rng := rand.New(rand.NewPCG(11, 13))
	var traces []trace
	for range 200 {
		traces = append(traces, wild(rng, 2))
	}
	generated := stretches(t, traces, func(o *Options) { o.CompactionThreshold = 160_000 })
	hold("generated", func(left int) *replyScore { return compactedReplies(generated, left) })

	corpus := os.Getenv("SM_CORPUS")
	if corpus == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	public := stretches(t, scripts(t, corpus))
	for _, b := range bounds {
		t.Logf("public, compacted, %d left: %s", b.left, compactedReplies(public, b.left))
	}
	hold("public, every size", func(left int) *replyScore { return everySize(public, left) })
}

// TestReplies: the range holds the figure, grows with the way, and is known from
// the first reply on.
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

// TestReplyMean: the mean follows the agent, one huge reply moves it little, and
// it stays positive.
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
	many := func(n int, step int64) []int64 {
		steps := make([]int64, n)
		for i := range steps {
			steps[i] = step
		}
		return steps
	}

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
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.low, c.high)
		}
	}
}
