package alerts

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/transcripttest"
)

// trace is what the engine is told of one agent, for measuring its forecasts.
type trace []Event

// script reads the transcript of one session.
func script(b []byte, name string) trace {
	var events trace
	var e transcript.Entry
	f := claude.NewFold(name, false)
	for line := range bytes.Lines(b) {
		if fresh, err := f.Line(bytes.TrimSuffix(line, []byte{'\n'}), len(line), &e); err != nil || !fresh {
			continue
		}
		ev := Event{Agent: "a", At: e.At.Time()}
		switch e.Kind {
		case transcript.KindReading:
			ev.Kind, ev.Tokens, ev.Model, ev.Window = EventReading, e.Context, string(e.Model), window
		case transcript.KindBoundary:
			ev.Kind, ev.Sign, ev.Key, ev.Trigger, ev.PreTokens = EventCompacted, SignBoundary, e.UUID, e.Trigger, e.PreTokens
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
		if err != nil || !strings.HasSuffix(name, ".jsonl") || strings.HasPrefix(name, "agent-") {
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

// habit is how the turns of a generated agent grow; turn counts within its cycle.
type habit func(rng *rand.Rand, usual float64, turn int) float64

func habits() map[string]habit {
	noise := func(rng *rand.Rand, sigma float64) float64 { return math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2) }
	return map[string]habit{
		"steady":       func(rng *rand.Rand, usual float64, _ int) float64 { return usual * (0.8 + 0.4*rng.Float64()) },
		"lognormal .5": func(rng *rand.Rand, usual float64, _ int) float64 { return usual * noise(rng, 0.5) },
		"lognormal 1":  func(rng *rand.Rand, usual float64, _ int) float64 { return usual * noise(rng, 1) },
		"huge steps": func(rng *rand.Rand, usual float64, _ int) float64 {
			if rng.IntN(20) == 0 {
				return usual*noise(rng, 0.5) + 30_000*rng.Float64()
			}
			return usual * noise(rng, 0.5)
		},
		"two phases": func(rng *rand.Rand, usual float64, turn int) float64 {
			return usual * noise(rng, 0.5) * (0.5 + float64(turn/8%2))
		},
		"growing": func(rng *rand.Rand, usual float64, turn int) float64 {
			return usual * noise(rng, 0.5) * (0.5 + float64(turn)/20)
		},
	}
}

// agentOf makes three cycles of an agent with a habit.
func agentOf(rng *rand.Rand, h habit) trace {
	usual := 6000 * math.Exp(0.5*rng.NormFloat64())
	var events trace
	now, size := 0.0, 0.0
	for cycle := range 3 {
		size = 20_000 + 20_000*rng.Float64()
		for turn := 0; size < 160_000 && turn < 300; turn++ {
			events = append(events, plain(now, EventTurnStart))
			grown, calls := h(rng, usual, turn), 1+int(rng.ExpFloat64()*5)
			for i := 0; i < calls && size < 160_000; i++ {
				now += 4 + 10*rng.ExpFloat64()
				size += grown / float64(calls)
				events = append(events, reading(now, int64(size)))
			}
			if size < 160_000 {
				events = append(events, plain(now+1, EventTurnEnd))
				now += 60 + 600*rng.Float64()
			}
		}
		now++
		events = append(events, boundary(now, transcript.Key(cycle+1)))
	}
	return events
}

// turnOf is where a cycle stood at the end of a turn.
type turnOf struct {
	size, peak int64
	growth     Growth
	last       float64 // by how much this turn grew
}

// cycle is one stretch of a trace, by turns; ended says that a compaction ended it.
type cycle struct {
	turns []turnOf
	ended bool
}

// cyclesOf replays a trace through an engine.
func cyclesOf(t *testing.T, events trace) (all []cycle) {
	e := newEngine(t)
	var c cycle
	var turn turnOf
	base := int64(0)
	close := func() {
		if turn.peak == 0 {
			return
		}
		a := e.agents["a"]
		turn.growth, turn.last = a.Growth, float64(turn.size-base)
		turn.growth.turn() // as if the turn had ended here, which it may not say
		base = turn.size
		c.turns = append(c.turns, turn)
		turn = turnOf{}
	}
	for _, ev := range events {
		switch ev.Kind {
		case EventTurnStart:
			close()
		case EventReading:
			if len(c.turns) == 0 && turn.peak == 0 {
				base = ev.Tokens
			}
			turn.size, turn.peak = ev.Tokens, max(turn.peak, ev.Tokens)
		case EventCompacted:
			close()
			c.ended = ev.Trigger == transcript.Auto
			all, c = append(all, c), cycle{}
		}
		e.Step(ev)
	}
	close()
	return append(all, c)
}

// errorsOf measures forecasts made when so many turns were left before the context
// first reached a size. In a cycle that was compacted this is the size of its last
// reading; any other size that a cycle has first reached in some turn is as good, so
// with virtual each turn that set a record counts, half of its way up.
func errorsOf(cycles []cycle, left int, virtual bool) (ours, naive []float64, within int) {
	for _, c := range cycles {
		record := int64(0)
		for i, turn := range c.turns {
			target := turn.peak
			if i == 0 || turn.peak <= record {
				record = max(record, turn.peak)
				continue
			}
			if virtual {
				target = (record + turn.peak) / 2
			}
			record = turn.peak
			from := i - left
			if from < 1 || !virtual && (i != len(c.turns)-1 || !c.ended) {
				continue
			}
			rest := float64(target - c.turns[from].size)
			f := c.turns[from].growth.turns(rest)
			ours = append(ours, relative(f.Likely, f.Known, left))
			if f.Known && f.Low <= float64(left) && f.High >= float64(left-1) {
				within++
			}
			naive = append(naive, relative(rest/c.turns[from].last, c.turns[from].last > 0, left))
		}
	}
	return ours, naive, within
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

// errorRow is one line of the table, and our median error with 10 turns left.
func errorRow(t *testing.T, name string, traces []trace, virtual bool) (row string, ten float64) {
	var cycles []cycle
	for _, events := range traces {
		cycles = append(cycles, cyclesOf(t, events)...)
	}
	row = fmt.Sprintf("%-28s", name)
	for _, left := range []int{10, 5, 3, 1} {
		ours, naive, within := errorsOf(cycles, left, virtual)
		if left == 10 {
			ten = median(ours)
		}
		if len(ours) == 0 {
			row += "        -       "
			continue
		}
		row += fmt.Sprintf("  %3.0f%% %3.0f%% %3d%% (%d)", 100*median(ours), 100*median(naive), 100*within/len(ours), len(ours))
	}
	return row, ten
}

// TestForecastError prints how far forecasts are off, beside those of the naive way
// (the last turn's growth goes on), and holds the generated fleets to the goal.
func TestForecastError(t *testing.T) {
	const goal = 0.2
	measure := func(name string, traces []trace, virtual, hold bool) {
		row, ten := errorRow(t, name, traces, virtual)
		if t.Log(row); hold && ten > goal {
			t.Errorf("%s: median error %.0f%% with 10 turns left, want at most %.0f%%", name, 100*ten, 100*goal)
		}
	}
	t.Log("median error with 10, 5, 3, 1 turns left: ours, naive, truth within our range (forecasts)")
	list := habits()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		rng := rand.New(rand.NewPCG(7, 7))
		var traces []trace
		for range 60 {
			traces = append(traces, agentOf(rng, list[name]))
		}
		// The others cannot be known: they change their habit, or have none.
		measure("generated: "+name, traces, false, name == "steady" || name == "lognormal .5" || name == "huge steps")
	}
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{Seed: 1, Bytes: 16 << 20, LineBytes: 500, Start: epoch}); err != nil {
		t.Fatal(err)
	}
	fleet := scripts(t, dir)
	measure("generated transcripts", fleet, false, true)
	measure("generated transcripts, sizes", fleet, true, true)

	corpus := os.Getenv("SM_CORPUS")
	if corpus == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	projects, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	all := scripts(t, corpus)
	measure("corpus, compacted", all, false, false)
	measure("corpus, sizes", all, true, false)
	for _, p := range projects {
		if p.IsDir() {
			measure("  "+p.Name(), scripts(t, filepath.Join(corpus, p.Name())), true, false)
		}
	}
}
