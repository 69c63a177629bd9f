package fleet

import (
	"testing"

	"sm/observer/fleet/crosscheck"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// verdict is how the status line stands to the transcript.
type verdict struct {
	Check string
	Drift int64
	Known bool
}

func (s *scene) verdict(at float64) verdict {
	s.t.Helper()
	v, err := s.f.View("em", second(at))
	if err != nil {
		s.t.Fatal(err)
	}
	return verdict{v.Check, v.Drift, v.DriftKnown}
}

// TestCrossCheck: reports of the status line against replies in the transcript. Each
// verdict is asked for at a time.
func TestCrossCheck(t *testing.T) {
	em := from("em", 7)
	agrees := verdict{crosscheck.Agrees, 0, true}
	lagging := verdict{Check: crosscheck.Lagging}
	none := verdict{}
	drift := func(n int64) verdict { return verdict{crosscheck.Drift, n, true} }
	for _, c := range []struct {
		name  string
		steps []step
		want  map[float64]verdict
	}{
		{
			"the report after the reply",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 60_000, em)},
			map[float64]verdict{10.3: agrees, 99: agrees},
		},
		{
			"the report before the transcript is read",
			[]step{shows(10.3, 1, 60_000, em), answers(10, 1, 60_000)},
			map[float64]verdict{10.4: agrees, 99: agrees},
		},
		{
			"the report 5 s before the reply's record",
			[]step{shows(10, 1, 60_000, em), answers(15, 1, 60_000)},
			map[float64]verdict{15: agrees},
		},
		{"the reply comes too late to be the report's", []step{
			answers(1, 1, 50_000),
			shows(10, 1, 60_000, em),
			answers(15.1, 1, 60_000),
		},
			map[float64]verdict{14.9: lagging, 15.2: drift(10_000)}},
		{
			"more than the transcript",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 61_234, em)},
			map[float64]verdict{10.3: lagging, 15.2: lagging, 15.3: drift(1_234)},
		},
		{
			"less than the transcript",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 59_000, em)},
			map[float64]verdict{15.2: lagging, 15.4: drift(-1_000)},
		},
		{
			"by a single token",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 60_001, em)},
			map[float64]verdict{99: drift(1)},
		},
		{
			"drawn anew, long after",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 60_000, em), shows(500, 1, 60_000, em)},
			map[float64]verdict{500: agrees, 900: agrees},
		},
		{"stuck at what was before", []step{
			answers(
				10,
				1,
				60_000,
			), shows(
				10.3,
				1,
				60_000,
				em,
			), answers(
				50,
				1,
				70_000,
			), answers(
				90,
				1,
				80_000,
			), shows(
				96,
				1,
				60_000,
				em,
			),
		}, map[float64]verdict{97: lagging, 102: drift(-20_000)}},
		{
			"stuck at the reply before",
			[]step{answers(10, 1, 60_000), answers(50, 1, 70_000), shows(55.1, 1, 60_000, em)},
			map[float64]verdict{61: drift(-10_000)},
		},
		{
			"a moment behind",
			[]step{answers(10, 1, 60_000), answers(50, 1, 70_000), shows(54.9, 1, 60_000, em)},
			map[float64]verdict{55: agrees},
		},
		{
			"the transcript goes on after the report",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 60_000, em), answers(50, 1, 70_000)},
			map[float64]verdict{60: agrees},
		},
		{"records in the order of a fork", []step{
			shows(100, 1, 61_000, em), answers(99, 1, 60_000), answers(10, 1, 30_000), answers(20, 1, 40_000),
		}, map[float64]verdict{110: drift(1_000)}},
		{
			"an older report, and records in that order",
			[]step{shows(12, 1, 30_000, em), answers(99, 1, 60_000), answers(10, 1, 30_000)},
			map[float64]verdict{110: agrees},
		},
		{
			"null before the first reply",
			[]step{shows(1, 1, 0, em), answers(2, 1, 60_000)},
			map[float64]verdict{2: none, 9: none},
		},
		{"null after a compaction", []step{
			answers(
				10,
				1,
				160_000,
			), shows(
				10.3,
				1,
				160_000,
				em,
			), writes(
				1,
				boundary(stampOf(20), "b1", "auto", 160_000),
			), shows(
				20.3,
				1,
				0,
				em,
			),
		}, map[float64]verdict{21: none, 90: none}},
		{"zeros", []step{answers(10, 1, 60_000), reports(10.3, 1, zeros(), em)}, map[float64]verdict{99: none}},
		{"without any transcript", []step{shows(10, 1, 60_000, em)}, map[float64]verdict{11: lagging, 16: none}},
		{
			"an older report comes late",
			[]step{answers(10, 1, 60_000), shows(10.3, 1, 60_000, em), shows(9, 1, 10_000, em)},
			map[float64]verdict{99: agrees},
		},
		{"another session's report", []step{
			starts(
				5,
				2,
				"clear",
				em,
			), answers(
				10,
				2,
				60_000,
			), shows(
				10.3,
				2,
				60_000,
				em,
			), shows(
				10.4,
				1,
				199_000,
				em,
			), shows(
				10.5,
				3,
				199_000,
				from("em", 8),
			),
		}, map[float64]verdict{99: agrees}},
		{
			"after /clear",
			[]step{
				answers(10, 1, 60_000),
				shows(10.3, 1, 61_000, em),
				starts(20, 2, "clear", em),
				answers(30, 2, 9_000),
			},
			map[float64]verdict{99: none},
		},
		{
			"percent alone, that agrees",
			[]step{answers(10, 1, 60_000), reports(10.3, 1, percentOnly(30), em)},
			map[float64]verdict{10.4: agrees},
		},
		{
			"percent alone, off by a rounding",
			[]step{answers(10, 1, 61_000), reports(10.3, 1, percentOnly(30), em)},
			map[float64]verdict{10.4: agrees},
		},
		{
			"percent alone, that does not",
			[]step{answers(10, 1, 60_000), reports(10.3, 1, percentOnly(40), em)},
			map[float64]verdict{10.4: lagging, 16: drift(20_000)},
		},
		{
			"a script's percentage, that agrees",
			[]step{answers(10, 1, 60_000), posts(10.3, 6.4, 0)},
			map[float64]verdict{10.4: agrees},
		},
		{
			"a script's percentage, that does not",
			[]step{answers(10, 1, 60_000), posts(10.3, 8, 0)},
			map[float64]verdict{10.4: lagging, 16: drift(20_000)},
		},
		{
			"a script's tokens, that its percentage bears out",
			[]step{answers(10, 1, 60_000), posts(10.3, 6, 60_321)},
			map[float64]verdict{10.4: lagging, 16: drift(321)},
		},
		{
			"the same tokens of another window",
			[]step{answers(10, 1, 60_000), reports(10.3, 1, oddWindow(), em)},
			map[float64]verdict{10.4: lagging, 16: drift(0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(starts(0.1, 1, "startup", em)).play(c.steps...)
			for at, want := range c.want {
				diff(t, second(at).Sub(created).String(), want, s.verdict(at))
			}
			s.play(restarts)
			for at, want := range c.want {
				diff(t, second(at).Sub(created).String()+", after a restart", want, s.verdict(at))
			}
		})
	}
}

// posts is a script that reports a percentage of any window, and a sum.
func posts(at, percent float64, total int64) step {
	return func(s *scene) {
		news, _, err := s.f.Usage(&hook.ContextUsage{
			SessionID:        "em",
			UsedPercentage:   &percent,
			TotalInputTokens: &total,
		}, transcript.InstantOf(second(at)))
		if err != nil {
			s.t.Fatal(err)
		}
		s.news.add(news)
	}
}

// zeros is what clients report right after /compact.
func zeros() hook.Status {
	st := status(0, 200_000)
	st.Window.Usage = hook.Figure[hook.Usage]{Known: true}
	st.Window.UsedPercentage = hook.Figure[float64]{Known: true}
	return st
}

// percentOnly is a report without usage.
func percentOnly(percent float64) hook.Status {
	st := status(0, 200_000)
	st.Window.UsedPercentage = hook.Figure[float64]{Value: percent, Known: true}
	return st
}

// oddWindow is a report whose percentage is of another window than it says.
func oddWindow() hook.Status {
	st := status(60_000, 200_000)
	st.Window.UsedPercentage.Value = 6
	return st
}

// TestReportsDropped counts the reports that said nothing any more.
func TestReportsDropped(t *testing.T) {
	em := from("em", 7)
	s := newScene(t).play(
		starts(
			1,
			1,
			"startup",
			em,
		), shows(
			10,
			1,
			60_000,
			em,
		), shows(
			10,
			1,
			60_000,
			em,
		), shows(
			9,
			1,
			199_000,
			em,
		), // the second is drawn anew
		starts(
			20,
			2,
			"clear",
			em,
		), shows(
			19,
			1,
			199_000,
			em,
		), shows(
			21,
			1,
			199_000,
			em,
		), shows(
			19,
			2,
			199_000,
			em,
		), shows(
			22,
			2,
			9_000,
			em,
		),
	)
	if n := s.f.Dropped(); n != 4 {
		t.Errorf("%d dropped, want 4", n)
	}
	for _, ev := range s.news.Events {
		if ev.Tokens > 60_000 {
			t.Errorf("told: %+v", ev)
		}
	}
}

// TestWindowOfStatusLine: the window in the status line is used at once, also for known
// tokens, and stays over /clear and restarts of client and observer.
func TestWindowOfStatusLine(t *testing.T) {
	em := from("em", 7)
	type told struct {
		Window  int64
		Percent int
	}
	s := newScene(t).play(fires(1, 1, prompted, em), answers(10, 1, 150_000))
	look := func() told {
		v, err := s.f.View("em", created)
		if err != nil {
			t.Fatal(err)
		}
		return told{v.Window.Tokens, v.Window.Percent(v.Tokens)}
	}
	events := func(steps ...step) (list []int64) {
		s.news = Update{}
		for _, ev := range s.play(steps...).news.Events {
			if ev.Tokens > 0 {
				list = append(list, ev.Tokens, ev.Window)
			}
		}
		return list
	}
	// The model's own window is a million: the papers' replies are of such a model.
	diff(t, "before", told{1_000_000, 15}, look())
	diff(
		t,
		"the same tokens, judged anew",
		[]int64{150_000, 200_000, 150_000, 200_000},
		events(reports(11, 1, status(150_000, 200_000), em)),
	)
	diff(t, "at once", told{200_000, 75}, look())
	diff(t, "nothing new", []int64{150_000, 200_000}, events(reports(12, 1, status(150_000, 200_000), em)))
	diff(t, "with null", []int64{150_000, 1_000_000}, events(reports(13, 1, status(0, 1_000_000), em)))
	diff(t, "null forgets nothing", []int64(nil), events(reports(14, 1, hook.Status{}, em)))
	diff(t, "after /clear", []int64{20_000, 1_000_000}, events(starts(20, 2, "clear", em), answers(21, 2, 20_000)))
	s.play(restarts)
	diff(t, "after a restart of the client", []int64{30_000, 1_000_000},
		events(ends(7), starts(30, 3, "startup", from("em", 8)), answers(31, 3, 30_000)))
	diff(t, "kept", told{1_000_000, 3}, look())
}

// TestPostedReports: what scripts post. Sums of a whole session are no context, and a
// percentage alone is of the window that is known.
func TestPostedReports(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	percent := func(p float64) *float64 { return &p }
	for _, c := range []struct {
		name   string
		window int64 // of an earlier status line
		post   hook.ContextUsage
		tokens int64
		of     int64
	}{
		{"as the client has it now", 0, hook.ContextUsage{
			UsedPercentage:    percent(52),
			TotalInputTokens:  number(104_321),
			ContextWindowSize: number(200_000),
		}, 104_321, 200_000},
		{"sums over the session", 0, hook.ContextUsage{
			UsedPercentage:    percent(30),
			TotalInputTokens:  number(2_400_000),
			ContextWindowSize: number(200_000),
		}, 60_000, 200_000},
		{"sums that fit into the window", 0, hook.ContextUsage{
			UsedPercentage:    percent(30),
			TotalInputTokens:  number(190_000),
			ContextWindowSize: number(200_000),
		}, 60_000, 200_000},
		{"sums that are too small", 0, hook.ContextUsage{
			UsedPercentage:    percent(30),
			TotalInputTokens:  number(15_234),
			ContextWindowSize: number(200_000),
		}, 60_000, 200_000},
		{"a percentage and nothing else", 0, hook.ContextUsage{UsedPercentage: percent(30)}, 60_000, 200_000},
		{"a percentage of the window that was told", 1_000_000, hook.ContextUsage{
			UsedPercentage: percent(30),
		}, 300_000, 1_000_000},
		{"a fraction", 0, hook.ContextUsage{UsedPercentage: percent(30.5)}, 61_000, 200_000},
		{"null", 0, hook.ContextUsage{TotalInputTokens: number(150_000), ContextWindowSize: number(200_000)}, 0, 0},
		{"zero", 0, hook.ContextUsage{
			UsedPercentage:    percent(0),
			TotalInputTokens:  number(150_000),
			ContextWindowSize: number(200_000),
		}, 0, 0},
		{"below zero", 0, hook.ContextUsage{UsedPercentage: percent(-3), ContextWindowSize: number(-7)}, 0, 0},
		{"full", 0, hook.ContextUsage{
			UsedPercentage:    percent(100),
			ContextWindowSize: number(200_000),
		}, 200_000, 200_000},
		{"more than full is a sum, too", 0, hook.ContextUsage{
			UsedPercentage:    percent(1_240),
			TotalInputTokens:  number(2_480_000),
			ContextWindowSize: number(200_000),
		}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(registers(1, Registration{ID: "em"}))
			if c.window > 0 {
				s.play(reports(2, 1, status(0, c.window), from("em", 7)))
			}
			c.post.SessionID = "em"
			news, agent, err := s.f.Usage(&c.post, transcript.InstantOf(second(10)))
			if agent != "em" || err != nil {
				t.Fatal(agent, err)
			}
			var tokens, window int64
			for _, ev := range news.Events {
				tokens = ev.Tokens
				window = ev.Window
			}
			diff(t, "tokens and window", [2]int64{c.tokens, c.of}, [2]int64{tokens, window})
		})
	}
}

// TestOldStatusLines: clients before 2.1.132 report sums over the session, some with a
// percentage of such a sum.
func TestOldStatusLines(t *testing.T) {
	em := from("em", 7)
	sums := func(version string, usage bool, percent float64) hook.Status {
		st := status(0, 200_000)
		st.Version = version
		st.Window.TotalInput = hook.Figure[int64]{Value: 1_900_000, Known: true}
		if usage {
			st.Window.Usage = status(60_000, 200_000).Window.Usage
		}
		if st.Window.UsedPercentage = (hook.Figure[float64]{}); percent > 0 {
			st.Window.UsedPercentage = hook.Figure[float64]{Value: percent, Known: true}
		}
		return st
	}
	for _, c := range []struct {
		name   string
		report hook.Status
		tokens int64
	}{
		{"sums alone", sums("2.0.60", false, 0), 0},
		{"sums and usage", sums("2.1.100", true, 0), 60_000},
		{"sums, and a percentage of them", sums("2.0.70", false, 950), 0},
		{"usage, and a percentage of the sums", sums("2.0.70", true, 950), 60_000},
		{"usage and its percentage", sums("2.1.131", true, 30), 60_000},
		{"percentage alone", sums("2.1.131", false, 30), 60_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if hook.AtLeast(c.report.Version, 2, 1, 132) {
				t.Fatal("not such a client")
			}
			s := newScene(t).play(reports(10, 1, c.report, em))
			var got int64
			for _, ev := range s.news.Events {
				got = max(got, ev.Tokens)
			}
			diff(t, "tokens told", c.tokens, got)
			if v, _ := s.f.View("em", created); v.Sample.Tokens != c.tokens {
				t.Errorf("%d tokens in the view, want %d", v.Sample.Tokens, c.tokens)
			}
		})
	}
}
