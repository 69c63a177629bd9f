package alerts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func instant(s float64) Instant { return transcript.InstantOf(sec(s)) }

// rewind goes back at s to a context of so many tokens; what was heard after left is lost.
func rewind(s float64, tokens int64, left float64) Event {
	ev := reset(s, CauseRewind, 0)
	ev.Tokens, ev.Window, ev.Model, ev.Left, ev.Until = tokens, window, "m", instant(left), instant(s-0.5)
	return ev
}

// back is a sample of a client that has gone back.
func back(s float64, tokens int64) Event {
	ev := sample(s, tokens)
	ev.Back = true
	return ev
}

// heard is the proof that a notice has arrived.
func heard(s float64, k Kind, cycle int) Event {
	ev := plain(s, EventHeard)
	ev.Notice = k
	ev.Cycle = cycle
	return ev
}

// TestRewind: what was lost with a rewind is said again under new keys, what the agent
// still has is not.
func TestRewind(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []Event
		want   []string
	}{
		{"what was said behind the point is said again", []Event{
			reading(
				1,
				40_000,
			), reading(
				20,
				140_000,
			), heard(
				21,
				KindCritical,
				1,
			), rewind(
				60,
				40_000,
				10,
			), reading(
				70,
				60_000,
			), reading(
				80,
				101_000,
			), reading(
				90,
				140_000,
			)}, []string{
			"say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/warning to self", "withdraw a/2/warning", "say a/2/critical to self"}},
		{"what was heard before the point stands", []Event{
			reading(
				1,
				101_000,
			), heard(
				2,
				KindWarning,
				1,
			), reading(
				20,
				140_000,
			), heard(
				21,
				KindCritical,
				1,
			), rewind(
				60,
				101_000,
				10,
			), reading(
				70,
				102_000,
			), reading(
				80,
				140_000,
			)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/critical to self"}},
		{"said before it, but heard behind", []Event{
			reading(1, 101_000), heard(20, KindWarning, 1), rewind(60, 101_000, 10)}, []string{
			"say a/1/warning to self", "open 2 rewind", "withdraw a/1/warning", "say a/2/warning to self"}},
		{"still waiting, and due at the point", []Event{
			reading(1, 101_000), reading(20, 120_000), rewind(60, 101_000, 10), reading(70, 102_000)}, []string{
			"say a/1/warning to self", "open 2 rewind"}},
		{"a warning used up by a critical notice goes with that", []Event{
			reading(
				1,
				101_000,
			), heard(
				2,
				KindWarning,
				1,
			), reading(
				5,
				140_000,
			), heard(
				20,
				KindCritical,
				1,
			), rewind(
				60,
				140_000,
				10,
			)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/critical to self"}},
		{"to the beginning", []Event{
			reading(1, 140_000),
			heard(2, KindCritical, 1),
			rewind(60, 0, -100),
			reading(70, 30_000),
			reading(80, 140_000),
		}, []string{
			"say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/critical to self"}},
		{"twice", []Event{
			reading(1, 140_000),
			rewind(60, 40_000, 0),
			rewind(65, 30_000, 0),
			reading(70, 140_000),
		}, []string{
			"say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "open 3 rewind", "say a/3/critical to self"}},
		{"told again", []Event{
			reading(1, 140_000),
			rewind(60, 40_000, 0),
			rewind(60, 40_000, 0),
			reading(70, 140_000),
			rewind(60, 40_000, 0),
		}, []string{
			"say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/critical to self"}},
		{"shortly after a compaction", []Event{
			reading(
				1,
				90_000,
			), boundary(
				60,
				1,
			), reading(
				70,
				50_000,
			), rewind(
				75,
				45_000,
				72,
			), reading(
				80,
				101_000,
			)}, []string{
			"open 2 compaction", "open 3 rewind", "say a/3/warning to self"}},
		{"a compaction shortly after it", []Event{
			reading(1, 90_000),
			rewind(60, 45_000, 0),
			reading(70, 50_000),
			boundary(75, 1),
		}, []string{
			"open 2 rewind", "open 3 compaction"}},
		{"what the parent was told stays told", []Event{
			seen(
				"boss",
				"",
			), reading(
				1,
				90_000,
			), boundary(
				60,
				1,
			), reading(
				70,
				50_000,
			), rewind(
				75,
				45_000,
				72,
			)}, []string{
			"open 2 compaction", "say a/2/compacted to parent", "open 3 rewind"}},
		{"the status line first", []Event{
			reading(
				1,
				40_000,
			), reading(
				20,
				140_000,
			), sample(
				20.3,
				140_000,
			), back(
				30,
				40_000,
			), back(
				40,
				40_000,
			), rewind(
				60,
				40_000,
				10,
			), sample(
				61,
				40_000,
			), reading(
				70,
				101_000,
			)}, []string{
			"say a/1/critical to self", "open 2 rewind", "withdraw a/1/critical", "say a/2/warning to self"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, func(o *Options) { o.Storm = Storm{} })
			if d := cmp.Diff(c.want, play(e, c.events...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestBack: after a rewind the status line gives the context until the next reading.
func TestBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []Event
		want   int64 // 0 for unknown
	}{
		{"a smaller figure", []Event{back(21, 40_000)}, 40_000},
		{"the same again", []Event{back(21, 40_000), back(99, 40_000)}, 40_000},
		{"none", []Event{back(21, 0)}, 0},
		{"none, then one", []Event{back(21, 0), sample(40, 25_000)}, 25_000},
		{"a reading after it", []Event{back(21, 40_000), reading(25, 141_000)}, 141_000},
		{"a reading from before", []Event{back(30, 40_000), reading(25, 141_000)}, 40_000},
		{"a clock set back", []Event{back(21, 40_000)}, 40_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			play(e, append([]Event{reading(1, 40_000), reading(20, 140_000), sample(20.3, 140_000)}, c.events...)...)
			if c.name == "a clock set back" {
				e.Tick(sec(-3600))
			}
			v, _ := e.Agent("a")
			if v.Tokens != c.want || v.Known != (c.want > 0) {
				t.Errorf("%d tokens, known: %v; want %d", v.Tokens, v.Known, c.want)
			}
		})
	}
}
