package tune

import (
	"context"
	"errors"
	"fmt"
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

// gridFleets are folders of transcripts: real ones where they are, small generated ones of all eras with forks and all
// that a reader must survive, and one of sessions that are compacted again and again.
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

// rewound is a folder of sessions that were rewound to any of their prompts, with copies of each.
func rewound(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := range 40 {
		s := transcripttest.Rewound(n)
		for _, x := range []*transcripttest.HandWritten{s, s.Copied(100+n, n%2 == 0)} {
			transcripttest.Written(t, dir, x)
		}
	}
	return dir
}

// everyEvent says of events that all of them happened where they stand.
func everyEvent(events []alerts.Event) []bool {
	return slices.Repeat(
		[]bool{true},
		len(events),
	)
}

// decisions are what an engine decides about levels, cycles and storms.
func decisions(t *testing.T, o alerts.Options, events []alerts.Event) (all []string) {
	t.Helper()
	engine, err := alerts.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		for _, action := range engine.Step(ev) {
			switch x := action.(type) {
			case alerts.Say:
				all = append(all, fmt.Sprint(x.Key, " at ", x.At))
			case alerts.Opened:
				all = append(
					all,
					fmt.Sprint(
						"cycle ",
						x.Cycle,
						x.Cause,
						x.Trigger,
						x.PreTokens,
						x.Warned,
						x.At,
					),
				)
			}
		}
	}
	return append(all, fmt.Sprint(engine.Counters().Storms, " storms"))
}

// TestThinnedDecidesTheSame: an engine with the few kept events decides as one with all
// events.
func TestThinnedDecidesTheSame(t *testing.T) {
	for name, dir := range gridFleets(t) {
		t.Run(name, func(t *testing.T) {
			h := historytest.Settled(t, dir)
			l := ladderOf(h.Sizes(history.Train), alerts.Defaults().Thresholds)
			sessions := 0
			compared := 0
			var n history.Thinner
			err := h.Each(t.Context(), nil, func(s history.Timeline) {
				sessions++
				all := s.Events
				points := l.points(&n, all, s.First)
				var few, some []alerts.Event
				n.Each(all, func(ev *alerts.Event) { some = append(some, *ev) })
				for _, p := range points {
					few = append(few, p.event)
				}
				for _, pair := range [][2]int{
					{0, 4},
					{4, 7},
					{8, 9},
					{3, len(l[inPercent]) - 1},
				} {
					for kind := range ladders {
						if pair[1] >= len(l[kind]) {
							continue
						}
						o := plainOptions(alerts.Defaults())
						o.Thresholds = thresholds(kind, l[kind][pair[0]], l[kind][pair[1]])
						want := decisions(t, o, all)
						compared += len(want)
						if d := cmp.Diff(want, decisions(t, o, few)); d != "" {
							t.Fatalf(
								"%s at %+v (-all +few):\n%s",
								all[0].Agent,
								o.Thresholds,
								d,
							)
						}
					}
				}
				o := alerts.Defaults()
				o.Thresholds = alerts.Thresholds{}
				if d := cmp.Diff(decisions(t, o, all), decisions(t, o, some)); d != "" {
					t.Fatalf("%s, storms (-all +some):\n%s", all[0].Agent, d)
				}
			})
			if err != nil || compared < sessions {
				t.Errorf("%v, compared %d decisions of %d sessions", err, compared, sessions)
			}
		})
	}
}

// FuzzThinned: with any order and times of events, an engine with the few kept ones decides the same.
func FuzzThinned(f *testing.F) {
	f.Add([]byte{0, 10, 10, 0, 10, 60, 0, 10, 61, 0, 10, 62, 3, 10, 0, 0, 10, 20})
	f.Add([]byte{
		2,
		10,
		0,
		0,
		10,
		60,
		0,
		200,
		80,
		0,
		10,
		70,
		1,
		0,
		71,
		3,
		130,
		0,
		0,
		10,
		20,
		0,
		10,
		30,
	})
	// A reading that is written late is not judged: a later one reaches the step.
	f.Add([]byte{
		0,
		20,
		20,
		0,
		20,
		30,
		0,
		20,
		60,
		0,
		20,
		61,
		0,
		226,
		110,
		0,
		70,
		105,
		0,
		20,
		106,
		0,
		20,
		107,
	})
	f.Add([]byte("C000\xf100000x0C\x940")) // a reading between two that are written late and early
	f.Fuzz(func(t *testing.T, b []byte) {
		var events []alerts.Event
		now := at(0)
		for i := 0; i+2 < len(b); i += 3 {
			ev := alerts.Event{Agent: "a", Window: 200_000}
			now = now.Add(time.Duration(int8(b[i+1])) * time.Second)
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
		o := plainOptions(alerts.Defaults())
		l := &ladder{{10, 30, 50, 65}, {40_000, 90_000}}
		var n history.Thinner
		var few, some []alerts.Event
		for _, p := range l.points(&n, events, everyEvent(events)) {
			few = append(few, p.event)
		}
		n.Each(events, func(ev *alerts.Event) { some = append(some, *ev) })
		for _, limits := range []alerts.Thresholds{
			thresholds(inPercent, 10, 30),
			thresholds(inPercent, 50, 65),
			thresholds(inTokens, 40_000, 90_000),
			thresholds(inPercent, 30, 0),
		} {
			o.Thresholds = limits
			if d := cmp.Diff(decisions(t, o, events), decisions(t, o, few)); d != "" {
				t.Fatalf("%+v (-all +few):\n%s", limits, d)
			}
		}
		o = alerts.Defaults()
		o.Thresholds = alerts.Thresholds{}
		if d := cmp.Diff(decisions(t, o, events), decisions(t, o, some)); d != "" {
			t.Fatalf("storms (-all +some):\n%s", d)
		}
	})
}

// at is a moment of a hand-made session, in minutes.
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

// handMade is a session by its events, one a minute: turn, a size in thousands of
// tokens, auto, manual, or back:TO:SIZE, a rewind to an event.
func handMade(id, list string) []alerts.Event {
	var events []alerts.Event
	for i, word := range strings.Fields(list) {
		ev := alerts.Event{Agent: alerts.AgentID(id), At: at(float64(i)), Window: 200_000}
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

// TestInterrupted: a user who ends a trial need not wait until all thresholds have been tried.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newTrial(ctx, alerts.Defaults(), 1)
	if _, err := r.run(alerts.Thresholds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("tried on: %v", err)
	}
}
