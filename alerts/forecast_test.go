package alerts

import (
	"math"
	"testing"

	"sm/transcript"
)

// steady has an agent grow by so much in each turn of three readings, 20 s apart,
// from a minute after the last event on; it rests for an hour between turns.
func steady(start float64, from, growth int64, turns int) (events []Event) {
	for i := range turns {
		at := start + 3600*float64(i)
		events = append(events, plain(at, EventTurnStart))
		for j := range 3 {
			events = append(events, reading(at+20*float64(j+1), from+growth*int64(i)+growth*int64(j+1)/3))
		}
		events = append(events, plain(at+60, EventTurnEnd))
	}
	return events
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.02*want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestForecast(t *testing.T) {
	at160 := func(o *Options) { o.CompactionThreshold = 160_000 }
	e := newEngine(t, at160)
	play(e, steady(0, 20_000, 6_000, 2)...)
	if f := view(t, e).Forecast; !f.Turns.Known {
		t.Error("two turns are not enough")
	}
	play(e, steady(7200, 32_000, 6_000, 8)...)
	f := view(t, e).Forecast // at 80,000: 13.3 turns, so in the 14th, each of a minute
	near(t, "turns", f.Turns.Likely, 13.33+0.5)
	near(t, "replies", f.Replies.Likely, 40*1.1) // not yet calibrated
	near(t, "active seconds", f.Active.Likely, 20*f.Replies.Likely)
	if !(f.Turns.Low <= f.Turns.Likely && f.Turns.Likely <= f.Turns.High && f.Active.Low <= f.Active.Likely && f.Active.Likely <= f.Active.High) {
		t.Errorf("not in order: %+v", f)
	}
	// After the compaction nothing is known of the context; then the earlier cycle
	// tells, and later the present one.
	play(e, boundary(40_000, 1))
	if f := view(t, e).Forecast; f.Turns.Known || f.Active.Known {
		t.Errorf("known without a context: %+v", f)
	}
	play(e, reading(40_010, 40_000))
	near(t, "turns by the cycle before", view(t, e).Forecast.Turns.Likely, 20+0.5)
	play(e, steady(50_000, 40_000, 3_000, 30)...)
	near(t, "turns by this cycle", view(t, e).Forecast.Turns.Likely, 10+0.4)
	play(e, reading(200_000, 160_000))
	if f := view(t, e).Forecast; !f.Turns.Known || f.Turns.High != 0 {
		t.Errorf("at the threshold: %+v", f)
	}
}

func TestForecastAbsent(t *testing.T) {
	at160 := func(o *Options) { o.CompactionThreshold = 160_000 }
	for _, c := range []struct {
		name   string
		change func(*Options)
		events []Event
	}{
		{"without a threshold", func(*Options) {}, steady(0, 20_000, 6_000, 5)},
		{"without readings", at160, []Event{plain(0, EventTurnStart), plain(10, EventTurnStart)}},
		{"after one turn", at160, steady(0, 20_000, 3_000, 1)[:3]},
		{"while the context shrinks", at160, steady(0, 90_000, -6_000, 5)},
		{"while it stands", at160, steady(0, 90_000, 0, 5)},
	} {
		e := newEngine(t, c.change)
		play(e, c.events...)
		if f := view(t, e).Forecast; f.Turns.Known || f.Active.Known {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestActiveTime(t *testing.T) {
	e := newEngine(t)
	play(e, plain(0, EventTurnStart), reading(20, 10_000), reading(21, 10_000), reading(30, 11_000), plain(60, EventTurnEnd),
		reading(90, 12_000), plain(5000, EventTurnStart), reading(5010, 13_000), reading(9000, 14_000))
	// 10 s, 30 s up to the end of the turn, 10 s, and for a gap of more than an hour what a reply took so far.
	g := e.agents["a"].Growth.Cycle
	want := (10*stepFade+30)*stepFade + 10
	want = want*stepFade + want/((stepFade+1)*stepFade+1)
	if near(t, "seconds", g.Seconds, want); g.Steps.N != 4 {
		t.Errorf("%d steps", g.Steps.N)
	}
}

// TestIdleGaps: hours in which an agent waits within a turn change nothing of the seconds that it has left.
func TestIdleGaps(t *testing.T) {
	t.Parallel()
	seconds := func(gap func(i int) float64) float64 {
		e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
		now := 0.0
		for i := range 60 {
			now += 10
			play(e, reading(now, int64(20_000+1600*i)))
			now += gap(i)
		}
		f := viewOf(t, e, "a").Forecast
		return f.Active.Likely / f.Replies.Likely
	}
	near(t, "at work", seconds(func(int) float64 { return 0 }), 10)
	near(t, "with idle hours", seconds(func(i int) float64 { return float64(i%15/14) * 3600 }), 10)
}

// TestForecastOneHugeStep has one turn read a large file: the forecast is of turns
// like the others.
func TestForecastOneHugeStep(t *testing.T) {
	e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
	play(e, steady(0, 20_000, 2_000, 8)...)
	play(e, steady(8*3600, 36_000, 60_000, 1)...)
	play(e, steady(9*3600, 96_000, 2_000, 3)...)
	// By the mean of all turns 10 would be left, by the newest ones 29.
	if got := view(t, e).Forecast.Turns.Likely; got < 16 || got > 30 {
		t.Errorf("%v turns", got)
	}
}

// TestForecastNotice: a forecast is said once a cycle, when few replies or turns may be left by the low end of its range.
func TestForecastNotice(t *testing.T) {
	t.Parallel()
	critical := "[sm context] Context at 75%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near."
	for _, c := range []struct {
		name           string
		replies, turns int
		want           []string
	}{
		{"by replies", 20, 0, []string{"[sm context] Context at 56%, 112,000 tokens. It is compacted in about 26 replies, 19 to 33, about 9 min of work.", critical}},
		{"by turns", 0, 5, []string{"[sm context] Context at 65%, 130,000 tokens. It is compacted in about 16 replies, 11 to 21, about 6 min of work.", critical}},
		{"by both", 20, 5, []string{"[sm context] Context at 56%, 112,000 tokens. It is compacted in about 26 replies, 19 to 33, about 9 min of work.", critical}},
		{"never", 0, 0, []string{critical}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, func(o *Options) {
				o.CompactionThreshold, o.ForecastReplies, o.ForecastTurns = 160_000, c.replies, c.turns
				o.Thresholds = Thresholds{CriticalTokens: 150_000}
			})
			var actions []Action
			for _, ev := range steady(0, 20_000, 6_000, 22) {
				actions = append(actions, e.Step(ev)...)
			}
			check(t, c.want, texts(actions))
			if len(c.want) > 1 {
				check(t, []string{"say a/1/forecast to self", "withdraw a/1/forecast", "say a/1/critical to self"}, lines(actions))
			}
		})
	}
}

// TestForecastNoticeUnknown: another system may announce a compaction that the engine does not know.
func TestForecastNoticeUnknown(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	play(e, reading(1, 100_000))
	got := e.Step(Event{Agent: "a", Kind: EventAlert, Notice: KindForecast, At: reading(2, 1).At})
	check(t, []string{"[sm context] Context at 50%, 100,000 tokens. It is compacted soon."}, texts(got))
}

func TestLearnedThreshold(t *testing.T) {
	e := newEngine(t)
	at := func(key transcript.Key, pre int64, model string, trigger Trigger) {
		ev := boundary(float64(key)*1000, key)
		ev.PreTokens, ev.Model, ev.Trigger = pre, model, trigger
		e.Step(ev)
	}
	threshold := func() int64 { v, _ := e.Agent("a"); return v.Threshold }
	play(e, reading(1, 50_000))
	at(1, 160_000, "m", transcript.Auto)
	at(2, 170_000, "m", transcript.Auto)
	at(2, 999_999, "m", transcript.Auto) // told again
	at(3, 60_000, "m", transcript.Manual)
	at(4, 90_000, "other", transcript.Auto)
	at(5, 0, "m", transcript.Auto)
	play(e, reading(6000, 50_000))
	if got := threshold(); got != 0 {
		t.Errorf("learned %d from two", got)
	}
	at(7, 166_000, "m", transcript.Auto)
	if v := view(t, e); v.Threshold != 166_000 || v.ThresholdSource != ThresholdSeen {
		t.Errorf("learned %d, %s", v.Threshold, v.ThresholdSource)
	}
	at(8, 150_000, "m", transcript.Auto)
	if got := threshold(); got != 163_000 {
		t.Errorf("median of four: %d", got)
	}
	for i := range 30 {
		at(transcript.Key(10+i), 100_000, "m", transcript.Auto)
	}
	s := e.Snapshot()
	if n := len(s.Learned[0].PreTokens); n != 25 || threshold() != 100_000 {
		t.Errorf("%d kept, %d", n, threshold())
	}
	configured := newEngine(t, func(o *Options) { o.CompactionThreshold = 155_000 })
	configured.Restore(s)
	if v, _ := configured.Agent("a"); v.Threshold != 155_000 || v.ThresholdSource != ThresholdConfigured {
		t.Errorf("configured: %d, %s", v.Threshold, v.ThresholdSource)
	}
}
