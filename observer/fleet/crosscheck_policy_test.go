package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

// said is the output of an engine for all events of a scene, in order.
func (s *scene) said() (list []string) {
	s.t.Helper()
	e, err := alerts.New(alerts.Defaults())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, ev := range s.news.Events {
		for _, act := range e.Step(ev) {
			if say, ok := act.(alerts.Say); ok {
				list = append(list, say.Key.String())
			}
		}
	}
	return list
}

// TestWarningsOfReports: what the engine says when all it knows comes from reports of the
// status line, or from both these and the transcript. Replies here are of a model with a
// window of a million.
func TestWarningsOfReports(t *testing.T) {
	em := from("em", 7)
	sums := status(0, 200_000)
	sums.Version = "2.1.90"
	sums.Window.TotalInput = hook.Figure[int64]{Value: 190_000, Known: true}
	for _, c := range []struct {
		name  string
		steps []step
		want  []string
	}{
		{"null, zero and null again", []step{shows(1, 1, 0, em), reports(2, 1, zeros(), em), shows(3, 1, 0, em)}, nil},
		{
			"null does not end what was known",
			[]step{shows(1, 1, 110_000, em), shows(2, 1, 0, em), shows(3, 1, 110_000, em)},
			[]string{"em/1/warning"},
		},
		{"small, and late what was large", []step{shows(10, 1, 20_000, em), shows(9, 1, 190_000, em)}, nil},
		{
			"another session's",
			[]step{
				starts(1, 1, "startup", em),
				starts(5, 2, "clear", em),
				shows(6, 1, 190_000, em),
				shows(7, 2, 9_000, em),
			},
			nil,
		},
		{
			"drawn before /clear, told after",
			[]step{
				shows(1, 1, 90_000, em),
				starts(10, 2, "clear", em),
				shows(9.9, 1, 140_000, em),
				shows(9.9, 2, 140_000, em),
			},
			nil,
		},
		{"sums of an old client", []step{reports(1, 1, sums, em), reports(2, 1, sums, em)}, nil},
		{"a percentage of sums", []step{reports(1, 1, percentOnly(640), em)}, nil},
		{
			"a large window",
			[]step{
				reports(1, 1, status(0, 1_000_000), em),
				answers(2, 1, 190_000),
				reports(2.3, 1, status(190_000, 1_000_000), em),
			},
			nil,
		},
		{"a large window, over /clear and before any report", []step{
			reports(1, 1, status(30_000, 1_000_000), em), starts(10, 2, "clear", em), answers(11, 2, 190_000),
		}, nil},
		{
			"a small window for what the transcript tells",
			[]step{answers(10, 1, 110_000), shows(10.3, 1, 110_000, em)},
			[]string{"em/1/warning"},
		},
		{"the same tokens of a small window, long after", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), answers(
				10,
				1,
				140_000,
			), reports(
				500,
				1,
				status(140_000, 200_000),
				em,
			), shows(
				501,
				1,
				140_000,
				em,
			),
		}, []string{"em/1/critical"}},
		{"without a transcript", []step{
			shows(1, 1, 90_000, em),
			shows(2, 1, 110_000, em),
			shows(3, 1, 112_000, em),
			shows(4, 1, 131_000, em),
			shows(5, 1, 140_000, em),
		},
			[]string{"em/1/warning", "em/1/critical"}},
		{"a report that the transcript does not bear out", []step{
			shows(
				1,
				1,
				0,
				em,
			), answers(
				10,
				1,
				60_000,
			), shows(
				11,
				1,
				190_000,
				em,
			), answers(
				12,
				1,
				61_000,
			), shows(
				15,
				1,
				190_000,
				em,
			),
		}, nil},
		{
			"a report that the transcript does not confirm",
			[]step{shows(1, 1, 0, em), answers(10, 1, 60_000), shows(15.1, 1, 110_000, em)},
			[]string{"em/1/warning"},
		},
		{"once in each session that the registry alone shows", []step{
			holds(
				0.5,
				7,
				1,
			), shows(
				1,
				1,
				110_000,
				em,
			), holds(
				0.5,
				7,
				2,
			), shows(
				20,
				2,
				105_000,
				em,
			), holds(
				0.5,
				7,
				3,
			), answers(
				60,
				3,
				30_000,
			), shows(
				60.3,
				3,
				30_000,
				em,
			),
		}, []string{"em/1/warning", "em/2/warning"}},
		{"drawn anew after the warning", []step{
			shows(
				1,
				1,
				0,
				em,
			), answers(
				10,
				1,
				110_000,
			), shows(
				10.3,
				1,
				110_000,
				em,
			), shows(
				60,
				1,
				110_000,
				em,
			), shows(
				600,
				1,
				110_000,
				em,
			),
		}, []string{"em/1/warning"}},
		{"drawn anew after a compaction", []step{
			shows(
				1,
				1,
				0,
				em,
			), answers(
				10,
				1,
				140_000,
			), shows(
				10.3,
				1,
				140_000,
				em,
			), writes(
				1,
				boundary(stampOf(60), "b1", "auto", 140_000),
			),
			shows(60.2, 1, 140_000, em), shows(61, 1, 0, em), answers(70, 1, 30_000), shows(70.3, 1, 30_000, em),
		}, []string{"em/1/critical"}},
		{"once a cycle, whatever tells it", []step{
			shows(
				1,
				1,
				0,
				em,
			), answers(
				10,
				1,
				140_000,
			), shows(
				10.3,
				1,
				140_000,
				em,
			), writes(
				1,
				boundary(stampOf(60), "b1", "auto", 140_000),
			),
			starts(60.1, 1, "compact", em), hooked(60.2, 1, hook.Payload{Event: hook.PostCompact, Trigger: "auto"}, em),
			shows(
				70.3,
				1,
				110_000,
				em,
			), answers(
				70,
				1,
				110_000,
			), starts(
				80,
				2,
				"clear",
				em,
			), holds(
				80,
				7,
				2,
			), answers(
				90,
				2,
				110_000,
			), shows(
				90.2,
				2,
				110_000,
				em,
			),
		}, []string{"em/1/critical", "em/2/warning", "em/3/warning"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(c.steps...)
			diff(t, "said", c.want, s.said())
		})
	}
}

// TestNoFalseWarningsRandom: agents below the warning get no notice, with any nonsense in
// status lines about other sessions, sums and old figures; an agent that has crossed it
// gets one, and one more after /clear.
func TestNoFalseWarningsRandom(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		em := from("em", 7)
		peak := []int{80_000, 120_000, 150_000}[rng.IntN(3)]
		s := newScene(t)
		s.play(reports(0.5, 1, status(0, 200_000), em))
		now := 1.0
		for n := 1; n <= 3; n++ {
			if n > 1 {
				s.play(starts(now, n, "clear", em))
			}
			now += noise(rng, s, now, n, peak, em)
		}
		said := s.said()
		var want []string
		for n := 1; n <= 3 && peak > 100_000; n++ {
			if want = append(want, fmt.Sprintf("em/%d/warning", n)); peak >= 130_000 {
				want = append(want, fmt.Sprintf("em/%d/critical", n))
			}
		}
		diff(t, fmt.Sprint("said with seed ", seed), want, said)
		if t.Failed() {
			return
		}
	}
}

// noise grows session n up to a peak in steps, with good and bad reports in between, and
// returns how long that took.
func noise(rng *rand.Rand, s *scene, from float64, n, peak int, em hook.Origin) float64 {
	at := from + 1
	before := max(1, n-1)
	stale := status(199_000, 200_000)
	gone := status(199_000, 200_000)
	if n == 1 {
		gone = status(0, 200_000) // there is no session that it has left
	}
	sums := status(0, 200_000)
	sums.Version = "2.1.90"
	sums.Window.TotalInput = hook.Figure[int64]{Value: 180_000, Known: true}
	for tokens := 20_000; tokens <= peak; tokens += 10_000 {
		at += 1 + 20*rng.Float64()
		good := []step{answers(at, n, tokens), shows(at+0.3, n, int64(tokens), em)}
		if rng.IntN(3) == 0 {
			slices.Reverse(good)
		}
		s.play(good...)
		for range rng.IntN(4) {
			later := at + 0.4 + 0.1*rng.Float64()
			s.play([]step{
				shows(
					later,
					n,
					0,
					em,
				), shows(
					at+0.3,
					n,
					int64(tokens),
					em,
				), reports(
					later,
					n,
					zeros(),
					em,
				), reports(
					later,
					n,
					sums,
					em,
				), reports(
					later,
					n,
					percentOnly(420),
					em,
				),
				reports(
					later,
					before,
					gone,
					em,
				), reports(
					from-0.1,
					n,
					stale,
					em,
				), reports(
					at-0.9,
					n,
					stale,
					em,
				), fires(
					later,
					n,
					used,
					em,
				),
				hooked(later, n, hook.Payload{
					Event:   hook.PreCompact,
					AgentID: "a1",
				}, em), hooked(at, n+50, hook.Payload{
					Event:   used,
					AgentID: "a1",
				}, em),
			}[rng.IntN(11)])
		}
	}
	return at + 5 - from
}
