package alerts

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/transcript"
)

// steady returns events of an agent that grows by the same amount in each turn of three
// readings, 20 s apart, starting a minute after the last event; it rests for an hour between
// turns.
func steady(start float64, from, growth int64, turns int) (events []Event) {
	for i := range turns {
		at := start + 3600*float64(i)
		events = append(events, plain(at, EventTurnStart))
		for j := range 3 {
			events = append(
				events,
				reading(at+20*float64(j+1), from+growth*int64(i)+growth*int64(j+1)/3),
			)
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

	// 80,000 tokens are left: 13.3 turns, or 40 replies of 2,000 tokens and 20 s. The mean
	// has moved two thirds of the way from the usual growth.
	f := view(t, e).Forecast
	near(t, "turns", f.Turns.Likely, 13.73+1) // the first turn grew by 4,000 alone
	near(t, "replies", f.Replies.Likely, 44.4)
	near(t, "active seconds", f.Active.Likely, 20*f.Replies.Likely)
	for _, r := range []Range{f.Turns, f.Replies, f.Active} {
		if r.Low > r.Likely || r.Likely > r.High {
			t.Errorf("not in order: %+v", r)
		}
	}

	// After the compaction the context is unknown. The forecast then uses the earlier cycle,
	// and later the present one.
	play(e, boundary(40_000, 1))
	if f := view(t, e).Forecast; f.Turns.Known || f.Active.Known {
		t.Errorf("known without a context: %+v", f)
	}
	play(e, reading(40_010, 40_000))
	near(t, "turns by the cycle before", view(t, e).Forecast.Turns.Likely, 20.6+1)
	play(e, steady(50_000, 40_000, 3_000, 30)...)
	near(t, "turns by this cycle", view(t, e).Forecast.Turns.Likely, 10+1)
	play(e, reading(200_000, 160_000))
	reached := Range{Known: true}
	want := Forecast{Replies: reached, Turns: reached, Active: reached}
	if d := cmp.Diff(want, view(t, e).Forecast); d != "" {
		t.Errorf("at the threshold (-want +got):\n%s", d)
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
		{
			"without readings",
			at160,
			[]Event{plain(0, EventTurnStart), plain(10, EventTurnStart)},
		},
		{"after one turn", at160, steady(0, 20_000, 3_000, 1)[:3]},
		{"without growth", at160, steady(0, 90_000, 0, 5)},
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
	play(e, plain(
		0,
		EventTurnStart,
	), reading(
		20,
		10_000,
	), reading(
		21,
		10_000,
	), reading(
		30,
		11_000,
	), plain(
		60,
		EventTurnEnd,
	),
		reading(
			90,
			12_000,
		), plain(
			5000,
			EventTurnStart,
		), reading(
			5010,
			13_000,
		), reading(
			9000,
			14_000,
		))
	// 10 s, 30 s up to the end of the turn, 10 s, and for a gap of more than an hour the mean
	// of a reply so far.
	want := Mean{N: 4, Value: 50.0 / 3}
	if d := cmp.Diff(
		want,
		e.agents["a"].Growth.Work,
		cmpopts.EquateApprox(1e-9, 0),
	); d != "" {
		t.Errorf("seconds of work per reply (-want +got):\n%s", d)
	}
}

// TestIdleGaps tests that hours in which an agent waits within a turn do not change the
// seconds left.
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
		f := view(t, e).Forecast
		return f.Active.Likely / f.Replies.Likely
	}
	near(t, "at work", seconds(func(int) float64 { return 0 }), 10)
	near(
		t,
		"with idle hours",
		seconds(func(i int) float64 { return float64(i%15/14) * 3600 }),
		10,
	)
}

// TestForecastOneHugeStep tests that after one turn that reads a large file, the forecast is
// of turns like the others.
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

// TestForecastNotice tests that a notice is sent once a cycle, when few replies or turns may
// be left by the low end of the forecast.
func TestForecastNotice(t *testing.T) {
	t.Parallel()
	const (
		byReplies = "[sm context] Context at 29%, 58,000 tokens. " +
			"It is compacted in about 59 replies, 19 to 119, about 20 min of work."
		byTurns = "[sm context] Context at 51%, 102,000 tokens. " +
			"It is compacted in about 31 replies, 7 to 63, about 11 min of work."
		critical = "[sm context] Context at 75%, critically high. " +
			"Write your handoff document now and run sm handoff PATH. Compaction is near."
	)

	for _, c := range []struct {
		name           string
		replies, turns int
		want           []string
	}{
		{"by replies", 20, 0, []string{byReplies, critical}},
		{"by turns", 0, 5, []string{byTurns, critical}},
		{"by both", 20, 5, []string{byReplies, critical}},
		{"never", 0, 0, []string{critical}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, func(o *Options) {
				o.CompactionThreshold = 160_000
				o.ForecastReplies = c.replies
				o.ForecastTurns = c.turns
				o.Thresholds = Thresholds{CriticalTokens: 150_000}
			})
			var actions []Action
			for _, ev := range steady(0, 20_000, 6_000, 22) {
				actions = append(actions, e.Step(ev)...)
			}
			check(t, c.want, texts(actions))
			if len(c.want) > 1 {
				check(
					t,
					[]string{
						"deliver a/1/forecast to self",
						"withdraw a/1/forecast",
						"deliver a/1/critical to self",
					},
					lines(actions),
				)
			}
		})
	}
}

// TestForecastNoticeUnknown tests that another system may announce a compaction that the
// engine does not expect.
func TestForecastNoticeUnknown(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	play(e, reading(1, 100_000))
	got := e.Step(Event{
		Agent:  "a",
		Kind:   EventAlert,
		Notice: KindForecast,
		At:     reading(2, 1).At,
	})
	check(
		t,
		[]string{"[sm context] Context at 50%, 100,000 tokens. It is compacted soon."},
		texts(got),
	)
}

// TestLearnedAtMost tests that a threshold is learned from the newest 25 compactions.
func TestLearnedAtMost(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for pre := range int64(30) {
		e.Learn(ObservedCompactions{Clients{Model: "m"}, []int64{100_000 + pre}})
	}
	if got := e.Learned()[0].PreTokens; len(got) != 25 || got[24] != 100_029 {
		t.Errorf("kept %d", got)
	}
}

// TestShrinking tests that while a context shrinks, no turn is forecast and no replies are
// near.
func TestShrinking(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
	play(e, steady(0, 90_000, -6_000, 5)...)
	f := view(t, e).Forecast
	if f.Turns.Known || f.Replies.Likely < 100 {
		t.Errorf("got %+v", f)
	}
}

// TestRest tests that a forecast uses one of the smallest sizes that were seen.
func TestRest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for i, pre := range []int64{174_000, 155_100, 170_600, 155_300, 171_400} {
		ev := boundary(float64(1000*i), transcript.Key(i+1))
		ev.PreTokens = pre
		ev.Model = "m"
		e.Step(ev)
	}
	ev := reading(9000, 100_000)
	ev.Model = "m"
	e.Step(ev)

	a := e.agents["a"]
	r, _ := a.current()
	if at, _ := e.threshold("a", r); at != 170_600 {
		t.Errorf("threshold %d", at)
	}
	if rest := e.rest(a); rest != 55_100 {
		t.Errorf("the forecast uses %v tokens more", rest)
	}
}

// TestBeyond tests that a context that has grown beyond the assumed size without a compaction
// is assumed to grow until the window is full. The next cycle starts with the assumption
// again.
func TestBeyond(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	at := func(second float64, tokens int64) float64 {
		ev := reading(second, tokens)
		ev.CompactsAt = 167_000
		e.Step(ev)
		return view(t, e).Forecast.Replies.Likely
	}

	for i := range 15 {
		if got := at(float64(i), int64(26_000+10_000*i)); got == 0 {
			t.Errorf("due at %d", 26_000+10_000*i)
		}
	}
	if got := at(20, 170_000); got != 0 {
		t.Errorf("just beyond it: %v replies, want 0", got)
	}
	if got := at(30, 180_000); got < 1 || got > 10 {
		t.Errorf("well beyond it: %v replies, want a few", got)
	}
	e.Step(boundary(40, 1))
	at(50, 30_000)
	if got := at(60, 170_000); got != 0 {
		t.Errorf("in the next cycle: %v replies, want 0", got)
	}
}

// TestForecastRestored tests that an engine restored from a stored state forecasts the same,
// and that one restored from the state of an older version starts again.
func TestForecastRestored(t *testing.T) {
	t.Parallel()
	at160 := func(o *Options) { o.CompactionThreshold = 160_000 }
	forecast := func(stored []byte) Forecast {
		t.Helper()
		var s State
		if err := json.Unmarshal(stored, &s); err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, at160)
		e.Restore(s)
		return view(t, e).Forecast
	}

	e := newEngine(t, at160)
	play(e, steady(0, 20_000, 6_000, 5)...)
	stored, err := json.Marshal(e.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(view(t, e).Forecast, forecast(stored)); d != "" {
		t.Errorf("restored (-before +after):\n%s", d)
	}

	old := `{
		"Agents": [{
			"Agent": "a",
			"Cycle": 1,
			"Readings": [{"At": 1, "Tokens": 30000}, {}, {}],
			"Growth": {
				"Cycle": {
					"Steps": {"N": 9, "Weight": 8, "Weights2": 7, "Sum": 9000, "Squares": 9e6},
					"Seconds": 90
				},
				"Earlier": {},
				"Base": 20000,
				"Top": 30000,
				"Moved": true,
				"Seconds": 3
			},
			"Foreseen": [[120, 100], [110, 90]],
			"Missed": [[90, 100]]
		}],
		"Calibration": {
			"Steps": {"N": 30, "Weight": 20},
			"Errors": [[1, 2], [3], null, null, null, null]
		}
	}`
	want := Forecast{Replies: around(130_000.0 / usualGrowth)}
	if d := cmp.Diff(want, forecast([]byte(old))); d != "" {
		t.Errorf("state of an older version (-want +got):\n%s", d)
	}
}
