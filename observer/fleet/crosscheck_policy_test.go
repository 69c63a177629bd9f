package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

// said returns the output of an engine for all events of a scenario, in order.
func (s *scenario) said() (list []string) {
	s.t.Helper()
	e, err := alerts.New(alerts.Defaults())
	noErrors(s.t, err)
	for _, ev := range s.news.Events {
		for _, act := range e.Step(ev) {
			if say, ok := act.(alerts.Deliver); ok {
				list = append(list, say.Key.String())
			}
		}
	}
	return list
}

// TestNoFalseWarningsRandom tests that agents below the warning get no notice, for any status
// lines about other sessions, sums and old figures, and that an agent that has crossed it
// gets one, and another after /clear.
func TestNoFalseWarningsRandom(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		em := from("em", 7)
		peak := []int{80_000, 120_000, 150_000}[rng.IntN(3)]
		s := newScenario(t)
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
func noise(rng *rand.Rand, s *scenario, from float64, n, peak int, em hook.Origin) float64 {
	at := from + 1
	before := max(1, n-1)
	stale := status(199_000, 200_000)
	gone := status(199_000, 200_000)
	if n == 1 {
		gone = status(0, 200_000) // there is no earlier session
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
					statusOf("zeros"),
					em,
				), reports(
					later,
					n,
					sums,
					em,
				), reports(
					later,
					n,
					statusOf("percent=420"),
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
