package alerts

import (
	"testing"

	"sm/transcript"
)

func TestStorm(t *testing.T) {
	storm := []string{"say a/4/storm to parent", "say a/4/storm/operator to operator"}
	only := func(lines []string) (out []string) {
		for _, l := range lines {
			if len(l) > 4 && l[:3] == "say" && l[8:9] != "c" {
				out = append(out, l)
			}
		}
		return out
	}
	byTime := func(o *Options) { o.Storm.Turns = 0 }
	autos := func(at ...float64) (events []Event) {
		events = append(events, seen("boss", "web"))
		for i, s := range at {
			events = append(events, boundary(s, transcript.Key(i+1)), reading(s+10, 30_000))
		}
		return events
	}
	check(t, storm, only(play(newEngine(t, byTime), autos(0, 900, 1799, 1900)...)))
	check(t, nil, only(play(newEngine(t, byTime), autos(0, 900, 1800)...)))
	// One episode lasts until a compaction that is none; then there may be another.
	check(t, append(storm, "say a/8/storm to parent", "say a/8/storm/operator to operator"),
		only(play(newEngine(t, byTime), autos(0, 600, 1200, 1800, 4000, 4600, 5200, 5300)...)))
	// Manual ones do not count.
	check(
		t,
		nil,
		only(play(
			newEngine(t, byTime),
			seen("boss", ""),
			boundary(0, 1),
			reading(1, 9),
			manualBoundary(60, 2),
			reading(61, 9),
			boundary(120, 3),
		)),
	)

	turns := func(n int) []Event {
		events := []Event{seen("boss", "web"), plain(0, EventTurnStart), boundary(50, 1), reading(60, 30_000)}
		for i := range n {
			events = append(
				events,
				plain(float64(3600*(i+1)), EventTurnStart),
				plain(float64(3600*(i+1))+0.1, EventTurnStart),
			)
		}
		return append(events, boundary(3600*10, 2))
	}
	e := newEngine(t)
	check(t, []string{"say a/3/storm to parent", "say a/3/storm/operator to operator"}, only(play(e, turns(4)...)))
	if !view(t, e).Storming || e.Counters().Storms != 1 {
		t.Error("no storm is known")
	}
	check(t, nil, only(play(newEngine(t), turns(5)...)))
	// The trigger is that of the attempt, until a sign knows better.
	check(t, nil, only(play(newEngine(t, byTime), append(autos(0), preCompact(900), hookSign(950, SignSessionStart),
		manualBoundary(950.1, 9), reading(960, 30_000), boundary(1700, 10))...)))
}

func TestNoData(t *testing.T) {
	told := func(n string) []string { return []string{"say a/1/no_data/" + n + " to operator"} }
	e := newEngine(t)
	check(
		t,
		nil,
		play(e, seen("boss", "web"), active(0, true), plain(1, EventTurnStart), reading(10, 30_000), tick(609)),
	)
	check(t, told("1"), play(e, tick(610), tick(700), tick(9000)))
	check(t, told("2"), play(e, reading(9100, 30_000), tick(9699), tick(9700)))
	// An agent at rest owes no readings, nor does one that compacts or has gone.
	check(t, nil, play(e, plain(9800, EventTurnEnd), tick(20_000), tick(30_000)))
	check(t, nil, play(e, plain(30_000, EventTurnStart), tick(30_599), preCompact(30_599), tick(30_800)))
	check(t, nil, play(e, active(30_900, false), tick(40_000)))
	check(t, told("3"), play(e, active(40_000, true), tick(40_599), tick(40_600)))
	// Nor one that is silenced, and the switch turns it off.
	check(t, nil, play(newEngine(t), active(0, true), enabled(false), tick(700)))
	check(t, nil, play(newEngine(t, func(o *Options) { o.NoDataAfter = 0 }), active(0, true), tick(70_000)))
	// Nothing is known of this agent, so it is not known to rest.
	check(t, told("1"), play(newEngine(t), active(0, true), tick(600)))
}

// TestAlertOfAnotherSystem: whichever finds it first, the engine or an alert, the agent
// gets each notice once a cycle.
func TestAlertOfAnotherSystem(t *testing.T) {
	alert := func(k Kind) Event {
		return Event{
			Kind:   EventAlert,
			Agent:  "a",
			At:     sec(50),
			Notice: k,
		}
	}
	for _, tt := range []struct {
		name   string
		events []Event
		want   []string
	}{
		{"no reading yet", []Event{alert(KindWarning), alert(KindForecast)}, nil},
		{
			"the warning first from an alert",
			[]Event{
				reading(1, 80_000),
				alert(KindWarning),
				alert(KindWarning),
				reading(60, 110_000),
				reading(70, 150_000),
			},
			[]string{"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self"},
		},
		{
			"critical first from an alert",
			[]Event{
				reading(1, 24_000),
				alert(KindCritical),
				alert(KindCritical),
				alert(KindWarning),
				reading(60, 110_000),
				reading(70, 150_000),
			},
			[]string{"say a/1/critical to self"},
		},
		{
			"a forecast and then critical",
			[]Event{
				reading(1, 24_000),
				alert(KindForecast),
				reading(60, 150_000),
				alert(KindForecast),
				alert(KindCritical),
			},
			[]string{"say a/1/forecast to self", "withdraw a/1/forecast", "say a/1/critical to self"},
		},
		{
			"again in the next cycle",
			[]Event{
				reading(1, 24_000), alert(KindCritical), boundary(55, 1), reading(60, 20_000),
				{
					Kind:   EventAlert,
					Agent:  "a",
					At:     sec(70),
					Notice: KindCritical,
				}, reading(80, 150_000),
			},
			[]string{
				"say a/1/critical to self",
				"open 2 compaction",
				"withdraw a/1/critical",
				"say a/2/critical to self",
			},
		},
		{
			"a storm",
			[]Event{reading(1, 80_000), alert(KindStorm), alert(KindStorm), alert(KindCompacted), alert(kinds)},
			[]string{"say a/1/storm/operator to operator"},
		},
		{"a disabled agent", []Event{enabled(false), reading(1, 150_000), alert(KindCritical), alert(KindStorm)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.want, play(newEngine(t), tt.events...)) })
	}
}

// TestAlertOfAnotherEpisode: alerts come late, and again for as long as they fire, so what was so when they began may be over.
func TestAlertOfAnotherEpisode(t *testing.T) {
	at := func(s float64, k Kind) Event {
		return Event{
			Kind:   EventAlert,
			Agent:  "a",
			At:     sec(s),
			Notice: k,
		}
	}
	none := at(50, KindNoData)
	begin := []Event{active(0, true), plain(1, EventTurnStart), reading(40, 30_000)}
	for _, c := range []struct {
		name   string
		events []Event
		want   []string
	}{
		{"silent since", append(begin, none, none), []string{"say a/1/no_data/1 to operator"}},
		{"read since", append(begin, none, reading(60, 30_000), none), []string{"say a/1/no_data/1 to operator"}},
		{
			"silent again",
			append(begin, none, reading(60, 30_000), none, at(70, KindNoData)),
			[]string{"say a/1/no_data/1 to operator", "say a/1/no_data/2 to operator"},
		},
		{"read before it came", append(begin, reading(60, 30_000), none), nil},
		{"at rest", append(begin, plain(45, EventTurnEnd), none), nil},
		{"at work since", append(begin, plain(45, EventTurnEnd), plain(60, EventTurnStart), none), nil},
		{"compacting", append(begin, preCompact(45), none), nil},
		{"gone", append(begin, active(45, false), none), nil},
		{
			"storm",
			[]Event{boundary(40, 1), at(50, KindStorm), at(50, KindStorm)},
			[]string{"open 2 compaction", "say a/2/storm/operator to operator"},
		},
		{
			"storm before a compaction that was none",
			[]Event{boundary(100, 1), at(50, KindStorm)},
			[]string{"open 2 compaction"},
		},
		{"storm that one ended", []Event{boundary(40, 1), at(50, KindStorm), boundary(9000, 2), at(50, KindStorm)},
			[]string{"open 2 compaction", "say a/2/storm/operator to operator", "open 3 compaction"}},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.want, play(newEngine(t), c.events...)) })
	}
}

// TestClockSetBack has the clock of the machine go back by an hour: the stamps from
// before must not make all that follows too old to count.
func TestClockSetBack(t *testing.T) {
	e := newEngine(t)
	play(e, tick(7200), reading(7200, 60_000), boundary(7201, 1), sample(7210, 30_000), sample(7220, 31_000))
	check(t, []string{"say a/2/warning to self"}, play(e, tick(3600), sample(3610, 110_000)))
	if e.Counters().ClockSteps != 1 {
		t.Errorf("%+v", e.Counters())
	}
	check(t, []string{"open 3 compaction", "withdraw a/2/warning"}, play(e, tick(3700), boundary(3700, 2)))
}

// TestWithoutTimes has records as bare as the first clients were described: the
// order in which they come is all there is.
func TestWithoutTimes(t *testing.T) {
	bare := func(evs ...Event) []Event {
		for i := range evs {
			evs[i].At = sec(0).AddDate(-9999, 0, 0)
		}
		return evs
	}
	e := newEngine(t, func(o *Options) { o.Storm = Storm{} })
	check(t, []string{
		"say a/1/warning to self", "open 2 compaction", "withdraw a/1/warning", "say a/2/critical to self",
		"open 3 clear", "withdraw a/2/critical",
	}, play(
		e,
		bare(
			reading(0, 90_000),
			reading(0, 110_000),
			boundary(0, 1),
			reading(0, 150_000),
			boundary(0, 1),
			reset(0, CauseClear, 0),
		)...,
	))
}
