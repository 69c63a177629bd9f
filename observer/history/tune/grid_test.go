package tune

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history"
	"sm/observer/history/historytest"
	"sm/transcript"
	"sm/transcript/transcripttest"
)

// gridFleets returns folders of transcripts: recorded ones if there are any, small generated
// ones of all eras with forks and all peculiarities, and one of sessions with many
// compactions.
func gridFleets(t *testing.T) map[string]string {
	t.Helper()
	fleets := map[string]string{}
	traps := transcripttest.Options{
		Seed:      31,
		Sessions:  24,
		Traps:     true,
		Copies:    true,
		Subagents: true,
	}
	large := transcripttest.Options{
		Seed:      33,
		Sessions:  30,
		Bytes:     24 << 20,
		LineBytes: 500,
		Copies:    true,
	}
	for name, o := range map[string]transcripttest.Options{"traps": traps, "large": large} {
		fleets[name] = t.TempDir()
		if _, err := transcripttest.Generate(fleets[name], o); err != nil {
			t.Fatal(err)
		}
	}
	fleets["rewinds"] = rewound(t)
	fleets["transcripts"] = "../../../transcript/claude/testdata/transcripts"
	return fleets
}

// rewound returns a folder of sessions that were rewound to any of their prompts, with copies
// of each.
func rewound(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := range 40 {
		s := rewoundOften(n)
		for _, x := range []*transcripttest.HandWritten{s, s.Copied(100+n, n%2 == 0)} {
			transcripttest.Written(t, dir, x)
		}
	}
	return dir
}

// rewoundOften returns a session that was rewound to some of its prompts and compacted now
// and then; n decides when.
func rewoundOften(n int) *transcripttest.HandWritten {
	s := transcripttest.NewHandWritten(n)
	random := rand.New(rand.NewPCG(uint64(n), 7))
	prompts := 0
	size := 20
	for range 20 + random.IntN(60) {
		switch move := random.IntN(12); {
		case size > 140 || move == 0 && size > 40:
			s.Compact("auto", size)
			size = 20
		case (move == 1 || size > 100 && move == 2) && prompts > 2:
			s.GoBack(1 + random.IntN(prompts-1))
			size = max(20, size-random.IntN(80))
			prompts++
		case move < 5:
			s.Turn()
			prompts++
		}
		s.Read(size)
		size += random.IntN(25)
	}
	s.GoBack(0)
	return s
}

// everyEvent marks all events as original.
func everyEvent(events []alerts.Event) []bool {
	return slices.Repeat(
		[]bool{true},
		len(events),
	)
}

// notices returns those of an engine with two thresholds in the cycles of a session that
// count.
func notices(t *testing.T, l *history.Timeline, p alerts.Thresholds) (all []string) {
	t.Helper()
	o := alerts.Defaults()
	o.Thresholds = p
	engine, err := alerts.New(o)
	if err != nil {
		t.Fatal(err)
	}
	given := [2]int{none, none}
	read := false
	end := func(end int) {
		all = append(all, fmt.Sprint(given, end))
		given = [2]int{none, none}
		read = false
	}
	for i, ev := range l.Events {
		ev.CompactsAt = 0
		for _, action := range engine.Step(ev) {
			switch x := action.(type) {
			case alerts.Deliver:
				if x.Key.Kind <= alerts.KindCritical {
					given[x.Key.Kind] = i
				}
			case alerts.Opened:
				before := given
				switch {
				case x.Cause == alerts.CauseRewind:
					for k, at := range before {
						if at != none && l.Events[at].At.After(ev.Left.Time()) &&
							!l.Events[at].At.After(ev.Until.Time()) {
							given[k] = none
						}
					}
					continue
				case read && x.Trigger.Forced() && l.First[i]:
					for k, at := range before {
						if at != none && l.Events[at].At.After(x.At) {
							given[k] = none
						}
					}
					end(i)
				default:
					given = [2]int{none, none}
					read = false
				}
				for k, at := range before {
					if at != none && l.Events[at].At.After(x.At) {
						given[k] = at
					}
				}
			}
		}
		read = read || ev.Kind == alerts.EventReading
	}
	if read && l.Open {
		end(none)
	}
	return all
}

// derived returns the same notices as derived by a trial of all steps.
func (r *trial) derived(p alerts.Thresholds) (all []string) {
	event := func(p *point) int {
		if p == nil {
			return none
		}
		return p.event
	}
	for _, c := range r.cycles {
		warning, critical := c.notices(r.pairOf(p))
		all = append(all, fmt.Sprint([2]int{event(warning), event(critical)}, event(c.end)))
	}
	return all
}

// thresholds returns two thresholds of one unit; 0 is none.
func thresholds(unit string, warning, critical int64) alerts.Thresholds {
	if unit == inTokens {
		return alerts.Thresholds{WarningTokens: warning, CriticalTokens: critical}
	}
	return alerts.Thresholds{
		WarningPercentage:  int(warning),
		CriticalPercentage: int(critical),
	}
}

// comparePairs compares for each pair what a trial derives of one session with an engine.
func comparePairs(
	t *testing.T,
	steps []step,
	l *history.Timeline,
	pairs []alerts.Thresholds,
) (compared int) {
	t.Helper()
	r := trialOf(t, steps)
	r.add(l)
	for _, p := range pairs {
		want := notices(t, l, p)
		compared += len(want)
		if d := cmp.Diff(want, r.derived(p)); d != "" {
			t.Fatalf(
				"%s at %+v (-engine +derived):\n%s",
				l.Events[0].Agent,
				p,
				d,
			)
		}
	}
	return compared
}

// TestPairs tests that the notices of each pair are those of an engine with its thresholds.
func TestPairs(t *testing.T) {
	for name, dir := range gridFleets(t) {
		t.Run(name, func(t *testing.T) {
			h := historytest.Settled(t, dir)
			steps := ladderOf(h.Sizes(), alerts.Defaults().Thresholds)
			var pairs []alerts.Thresholds
			for i := range steps {
				for _, j := range []int{i + 1, i + 4} {
					if j < len(steps) && steps[i].unit == steps[j].unit {
						pairs = append(
							pairs,
							thresholds(steps[i].unit, steps[i].at, steps[j].at),
						)
					}
				}
			}
			compared := 0
			err := h.Each(t.Context(), func(l history.Timeline) {
				compared += comparePairs(t, steps, &l, pairs)
			})
			if err != nil || compared == 0 {
				t.Errorf("%v, compared %d cycles", err, compared)
			}
		})
	}
}

// FuzzPairs does the same with any events in the order of their times.
func FuzzPairs(f *testing.F) {
	f.Add([]byte{0, 10, 10, 0, 10, 60, 0, 10, 61, 0, 10, 62, 3, 10, 0, 0, 10, 20})
	f.Fuzz(func(t *testing.T, b []byte) {
		var events []alerts.Event
		now := at(0)
		for i := 0; i+2 < len(b); i += 3 {
			ev := alerts.Event{Agent: "a"}
			ev.Window = 200_000
			now = now.Add(time.Duration(b[i+1]) * time.Second)
			if ev.At = now; b[i]&0x80 != 0 {
				ev.At = time.Time{}
			}
			switch b[i] % 8 {
			default:
				ev.Kind = alerts.EventReading
				ev.Tokens = 1 + int64(b[i+2])*1000
			case 1:
				ev.Kind = alerts.EventReading
				ev.Tokens = 1 + int64(b[i+2])*1000
				ev.Window = 1_000_000
			case 2:
				ev.Kind = alerts.EventTurnStart
			case 3:
				ev.Kind = alerts.EventCompacted
				ev.Sign = alerts.SignBoundary
				ev.Key = transcript.Key(i + 1)
				ev.PreTokens = int64(b[i+2]) * 1000
				ev.Trigger = transcript.Trigger(b[i+2] % 3)
			case 4:
				ev.Kind = alerts.EventTurnEnd
			}
			events = append(events, ev)
		}
		l := &history.Timeline{Events: events, First: everyEvent(events), Open: true}
		if len(events) == 0 {
			return
		}
		steps := ladderOf(nil, alerts.Thresholds{
			WarningPercentage:  10,
			CriticalPercentage: 30,
			WarningTokens:      40_000,
			CriticalTokens:     90_000,
		})
		comparePairs(t, steps, l, []alerts.Thresholds{
			thresholds(inPercent, 10, 30),
			thresholds(inPercent, 50, 65),
			thresholds(inTokens, 40_000, 90_000),
			thresholds(inPercent, 30, 0),
		})
	})
}

// trialOf starts a trial with default settings.
func trialOf(t *testing.T, steps []step) *trial {
	t.Helper()
	r, err := newTrial(alerts.Options{}, steps)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at returns a moment of a hand-made session, in minutes.
func at(minutes float64) time.Time {
	return time.Date(
		2026,
		1,
		2,
		8,
		0,
		0,
		0,
		time.UTC,
	).Add(time.Duration(minutes * float64(time.Minute)))
}

// handMade returns a session by its events, one a minute: turn, a size in thousands of
// tokens, auto, manual, or back:TO:SIZE, a rewind to an event.
func handMade(id, list string) []alerts.Event {
	var events []alerts.Event
	for i, word := range strings.Fields(list) {
		ev := alerts.Event{Agent: id, At: at(float64(i))}
		ev.Window = 200_000
		var to float64
		switch word {
		case "turn":
			ev.Kind = alerts.EventTurnStart
			ev.Window = 0
		case "auto", "manual":
			ev.Kind = alerts.EventCompacted
			ev.Sign = alerts.SignBoundary
			ev.Key = transcript.Key(i + 1)
			ev.PreTokens = 160_000
			ev.Trigger = map[string]transcript.Trigger{
				"auto":   transcript.Auto,
				"manual": transcript.Manual,
			}[word]
		default:
			ev.Kind = alerts.EventReading
			if _, err := fmt.Sscanf(word, "back:%g:%d", &to, &ev.Tokens); err == nil {
				ev.Kind = alerts.EventReset
				ev.Cause = alerts.CauseRewind
				ev.Left = transcript.InstantOf(at(to))
				ev.Until = transcript.InstantOf(at(float64(i - 1)))
			} else if _, err := fmt.Sscan(word, &ev.Tokens); err != nil {
				panic(err)
			}
			ev.Tokens *= 1000
		}
		events = append(events, ev)
	}
	return events
}
