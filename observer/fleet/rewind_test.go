package fleet

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/fleet/crosscheck"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// turn is a prompt behind a parent, its reply of so many tokens, and its end: p, r and e
// with the number.
func turn(at float64, n int, parent string, tokens int) []string {
	p := fmt.Sprint("p", n)
	r := fmt.Sprint("r", n)
	behind := func(parent, line string) string {
		if parent == "" {
			return line
		}
		return fmt.Sprintf(`{"parentUuid":%q,`, parent) + line[1:]
	}
	return []string{
		behind(parent, prompt(stampOf(at), p)),
		behind(p, replyAs(stampOf(at+1), "m-"+r, r, tokens, 10)),
		behind(
			r,
			fmt.Sprintf(`{"type":"system","subtype":"turn_duration","uuid":"e%d","timestamp":%q}`, n, stampOf(at+2)),
		),
	}
}

// shown is the context in an agent's view.
type shown struct {
	Tokens int64 // 0 for unknown
	Source transcript.Source
	Check  string
	Drift  int64
}

// TestRewoundViews: the shown context of a rewound conversation, by the status line at
// first and then by the transcript, and when it reaches the policy.
func TestRewoundViews(t *testing.T) {
	em := from("em", 7)
	const sl = transcript.FromStatusline
	note := writes(1, `{"type":"last-prompt","leafUuid":"00000000-0000-0000-0000-000000000000","explicit":true}`)
	full := func(s *scene) {
		s.play(starts(1, 1, "startup", em), writes(1, turn(10, 1, "", 30_000)...), shows(11.3, 1, 30_000, em),
			writes(1, turn(20, 2, "e1", 140_000)...), shows(21.3, 1, 140_000, em))
	}
	for _, c := range []struct {
		name   string
		steps  []step
		at     float64
		want   shown
		resets []string
	}{
		{"by the status line", []step{shows(60, 1, 30_000, em)}, 60, shown{30_000, sl, crosscheck.Agrees, 0}, nil},
		{"right after the reply", []step{shows(22, 1, 30_000, em)}, 22, shown{30_000, sl, crosscheck.Agrees, 0}, nil},
		{
			"drawn anew",
			[]step{shows(60, 1, 30_000, em), shows(90, 1, 30_000, em)},
			90,
			shown{30_000, sl, crosscheck.Agrees, 0},
			nil,
		},
		{
			"after a restart",
			[]step{shows(60, 1, 30_000, em), restarts, shows(90, 1, 30_000, em)},
			90,
			shown{30_000, sl, crosscheck.Agrees, 0},
			nil,
		},
		{
			"by the next prompt",
			[]step{shows(60, 1, 30_000, em), writes(1, turn(70, 3, "e1", 31_000)[0])},
			70,
			shown{30_000, 0, crosscheck.Agrees, 0},
			[]string{"30000 12..22"},
		},
		{
			"and its reply",
			[]step{shows(60, 1, 30_000, em), writes(1, turn(70, 3, "e1", 31_000)...), shows(71.3, 1, 31_000, em)},
			72,
			shown{31_000, 0, crosscheck.Agrees, 0},
			[]string{"30000 12..22"},
		},
		{
			"by the prompt alone",
			[]step{writes(1, turn(70, 3, "e1", 31_000)[0])},
			70,
			shown{30_000, 0, crosscheck.Agrees, 0},
			[]string{"30000 12..22"},
		},
		{"to the beginning", []step{shows(60, 1, 0, em)}, 60, shown{0, sl, crosscheck.None, 0}, nil},
		{
			"to the beginning, with a note",
			[]step{shows(60, 1, 0, em), writes(1, turn(70, 3, "e2", 25_000)[0]), note},
			70,
			shown{0, 0, crosscheck.None, 0},
			[]string{"0 ..60", "0 ..22"},
		},
		{
			"to the beginning, without one",
			[]step{shows(60, 1, 0, em), writes(1, turn(70, 3, "e2", 25_000)[0])},
			70,
			shown{0, sl, crosscheck.None, 0},
			[]string{"0 ..60"},
		},
		{
			"and its reply, without one",
			[]step{shows(60, 1, 0, em), writes(1, turn(70, 3, "e2", 25_000)...), shows(71.3, 1, 25_000, em)},
			72,
			shown{25_000, 0, crosscheck.Agrees, 0},
			[]string{"0 ..60"},
		},
		{
			"within a turn",
			[]step{
				writes(1, turn(70, 3, "e2", 150_000)[:2]...),
				shows(71.3, 1, 150_000, em),
				shows(80, 1, 140_000, em),
			},
			99,
			shown{150_000, 0, crosscheck.Drift, -10_000},
			nil,
		},
		{
			"a client that has just started",
			[]step{starts(60, 1, "resume", em), shows(61, 1, 0, em)},
			62,
			shown{140_000, 0, crosscheck.None, 0},
			nil,
		},
		{"more than before", []step{shows(60, 1, 150_000, em)}, 99, shown{140_000, 0, crosscheck.Drift, 10_000}, nil},
		{
			"a percentage alone",
			[]step{reports(60, 1, percentage(15), em)},
			99,
			shown{140_000, 0, crosscheck.Drift, -110_000},
			nil,
		},
		{
			"a report that comes late",
			[]step{shows(11, 1, 30_000, em)},
			30,
			shown{140_000, 0, crosscheck.Agrees, 0},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(full)
			s.news = Update{}
			s.play(c.steps...)
			v, err := s.f.View("em", second(c.at))
			if err != nil {
				t.Fatal(err)
			}
			got := shown{v.Tokens, v.Source, v.Check, v.Drift}
			if got.Tokens > 0 != v.Known {
				t.Errorf("%d tokens, known: %v", v.Tokens, v.Known)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var resets []string
			for _, ev := range s.news.Events {
				if ev.Kind == alerts.EventReset && ev.Cause == alerts.CauseRewind {
					resets = append(resets, fmt.Sprintf("%d %s..%s", ev.Tokens, secondOf(ev.Left), secondOf(ev.Until)))
				}
			}
			if d := cmp.Diff(c.resets, resets); d != "" {
				t.Errorf("told to the policy (-want +got):\n%s", d)
			}
		})
	}
}

// secondOf is a stamp in seconds from the start of the scene, "" for none.
func secondOf(at transcript.Instant) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprint(at.Time().Sub(created).Seconds())
}

// percentage is a report without figures.
func percentage(p float64) hook.Status {
	st := status(0, 200_000)
	st.Window.UsedPercentage = hook.Figure[float64]{Value: p, Known: true}
	return st
}

// TestForkBeforeItsPrompt: a fork's status line reports the context that it has taken
// over before there is a transcript; after /clear it reports the old one.
func TestForkBeforeItsPrompt(t *testing.T) {
	em := from("em", 7)
	for _, c := range []struct {
		name string
		step step
		want int64 // by the policy, 0 for unknown
	}{
		{"a fork", starts(59, 1, "fork", from("em", 8)), 50_000},
		{"a resume under another id", starts(59, 1, "resume", from("em", 8)), 50_000},
		{"a clear", starts(59, 2, "clear", em), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := em
			if c.want > 0 {
				o = from("em", 8)
			}
			s := newScene(t).play(
				starts(1, 1, "startup", em),
				answers(10, 1, 50_000),
				shows(10.3, 1, 50_000, em),
				ends(7),
				c.step,
				shows(60, 2, 50_000, o),
			)
			e, err := alerts.New(alerts.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range s.news.Events {
				e.Step(ev)
			}
			v, _ := e.Agent("em")
			if v.Tokens != c.want {
				t.Errorf("%d tokens, want %d", v.Tokens, c.want)
			}
		})
	}
}

// TestStampsAheadOfTheClock: a record stamped in the future counts as of now, and later
// records come after it.
func TestStampsAheadOfTheClock(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines [][]string // batches
	}{
		{"in one batch", [][]string{{reply(stampOf(3610), "m1", 30_000, 1), reply(stampOf(11), "m2", 140_000, 1)}}},
		{"in two", [][]string{{reply(stampOf(3610), "m1", 30_000, 1)}, {reply(stampOf(11), "m2", 140_000, 1)}}},
		{
			"for ever",
			[][]string{{reply("2261-01-01T00:00:00.000Z", "m1", 30_000, 1)}, {reply(stampOf(11), "m2", 140_000, 1)}},
		},
		{
			"a clock set back",
			[][]string{{reply(stampOf(10), "m1", 30_000, 1)}, {reply(stampOf(-3600), "m2", 140_000, 1)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			e, err := alerts.New(alerts.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			now := second(12)
			play := func() {
				e.SetClock(now)
				for _, ev := range s.news.Events {
					e.Step(ev)
				}
				s.news = Update{}
			}
			s.f.Clock(now)
			s.play(writes(1, prompt(stampOf(1), "p1")))
			play()
			for i, lines := range c.lines {
				if c.name == "a clock set back" && i == 1 {
					now = second(-3599)
				}
				s.f.Clock(now)
				s.play(writes(1, lines...))
				play()
			}
			v, err := s.f.View(uuid(1), now)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := e.Agent(alerts.AgentID(uuid(1)))
			if v.Tokens != 140_000 || p.Tokens != 140_000 {
				t.Errorf("%d tokens, by the policy %d", v.Tokens, p.Tokens)
			}
		})
	}
}
