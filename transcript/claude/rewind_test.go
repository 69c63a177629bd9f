package claude

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// behind is a line with the record that it follows.
func behind(parent, line string) string { return fmt.Sprintf(`{"parentUuid":%q,`, parent) + line[1:] }

// stamped is a line with a time.
func stamped(at, line string) string { return fmt.Sprintf(`{"timestamp":%q,`, at) + line[1:] }

func TestRewind(t *testing.T) {
	const (
		turnEnd = `{"type":"system","subtype":"turn_duration","uuid":%q}`
		note    = `{"type":"last-prompt","leafUuid":"00000000-0000-0000-0000-000000000000","explicit":true}`
	)
	ends := func(uuid, parent string, second int) string {
		return stamped(at(second), behind(parent, fmt.Sprintf(turnEnd, uuid)))
	}
	say := func(uuid, parent string, second int) string {
		return stamped(at(second), behind(parent, prompted(uuid, `"Go on."`)))
	}
	reply := func(uuid, parent string, second, tokens int) string {
		return behind(parent, reading(uuid, at(second), tokens))
	}
	heard := func(uuid, parent string, second int) string {
		return stamped(
			at(second),
			behind(
				parent,
				`{"type":"attachment","uuid":"`+uuid+`","attachment":{"type":"hook_additional_context","content":["[sm context] Full. #a1b2c3"]}}`,
			),
		)
	}
	shell := func(version, uuid, parent string, second int) string {
		return `{"version":"` + version + `",` + stamped(
			at(second),
			behind(parent, prompted(uuid, `"<bash-input>ls</bash-input>"`)),
		)[1:]
	}
	two := []string{
		stamped(at(1), prompted("p1", `"Begin."`)), reply("r1", "p1", 2, 100), ends("e1", "r1", 3),
		say("p2", "e1", 10), reply("r2", "p2", 11, 900), ends("e2", "r2", 12),
	}
	type want struct {
		Rewound     int
		Context     int64 // of the session, 0 for unknown
		Left, Until transcript.Instant
		Compactions int
	}
	second := func(n int) transcript.Instant { return instantAt(t, at(n)) }
	tests := map[string]struct {
		more []string
		want want
	}{
		"no rewind":            {[]string{say("p3", "e2", 20)}, want{Context: 900}},
		"to the second prompt": {[]string{say("p3", "e1", 20)}, want{1, 100, second(3), second(12), 0}},
		"and its reply": {
			[]string{say("p3", "e1", 20), reply("r3", "p3", 21, 150)},
			want{1, 150, second(3), second(12), 0},
		},
		"with the client's note": {[]string{say("p3", "e1", 20), note}, want{1, 100, second(3), second(12), 0}},
		"twice": {
			[]string{say("p3", "e1", 20), reply("r3", "p3", 21, 150), ends("e3", "r3", 22), say("p4", "e1", 30)},
			want{2, 100, second(3), second(22), 0},
		},
		"to the beginning": {[]string{say("p3", "e2", 20), note}, want{1, 0, 0, second(12), 0}},
		"to the beginning, and on": {
			[]string{say("p3", "e2", 20), note, reply("r3", "p3", 21, 70)},
			want{1, 70, 0, second(12), 0},
		},
		"a note that comes late": {[]string{say("p3", "e2", 20), reply("r3", "p3", 21, 950), note}, want{
			Context: 950,
		}},
		"a fork's note": {[]string{say("p3", "e2", 20), `{"type":"last-prompt","leafUuid":"e2","explicit":true}`}, want{
			Context: 900,
		}},
		"to a command": {
			[]string{stamped(at(20), behind("e1", prompted("c", `"<command-name>/model</command-name>"`)))},
			want{1, 100, second(3), second(12), 0},
		},
		"a remark first": {
			[]string{
				`{"isMeta":true,` + stamped(at(20), behind("e1", prompted("c", `"Caveat"`)))[1:],
				say("p3", "c", 20),
			},
			want{1, 100, second(3), second(12), 0},
		},
		"within the turn": {[]string{say("p3", "e2", 20), reply("r3", "p3", 21, 950), say("p4", "e2", 22)}, want{
			Context: 950,
		}},
		"written down once more": {[]string{say("q2", "e1", 10), reply("s2", "q2", 11, 900)}, want{Context: 900}},
		"before any reply":       {[]string{say("p3", "e2", 20), say("p4", "e2", 25)}, want{Context: 900}},
		"before any reply, but heard": {
			[]string{say("p3", "e2", 20), heard("h", "p3", 20), say("p4", "e2", 25)},
			want{1, 900, second(12), second(20), 0},
		},
		"behind results of two calls": {[]string{
			say("p3", "e2", 20),
			reply("r3", "p3", 21, 950),
			behind("r3", prompted("t1", `[{"type":"tool_result"}]`)),
			behind("r3", prompted("t2", `[{"type":"tool_result"}]`)),
			reply("r4", "t2", 22, 990),
		}, want{
			Context: 990,
		}},
		"of a subagent": {[]string{side(say("p3", "e1", 20))}, want{Context: 900}},
		"of another session": {[]string{
			`{"sessionId":"x",` + say("p3", "e2", 20)[1:],
			`{"sessionId":"y",` + say("p4", "e1", 21)[1:],
		}, want{
			Context: 900,
		}},
		"beyond a compaction": {
			[]string{
				boundary("b", at(15), "auto", 900, ""),
				summary("s", "b", at(15)),
				reply("r3", "s", 16, 50),
				ends("e3", "r3", 17),
				say("p3", "e1", 20),
			},
			want{1, 100, second(3), second(17), 1},
		},
		"right behind a compaction": {
			[]string{
				boundary("b", at(15), "auto", 900, ""),
				summary("s", "b", at(15)),
				say("p3", "s", 16),
				reply("r3", "p3", 17, 50),
				ends("e3", "r3", 18),
				say("p4", "s", 20),
			},
			want{1, 0, second(15), second(18), 1},
		},
		"bash mode of clients 1.x": {[]string{
			shell("1.0.24", "b1", "c", 20),
			reply("r3", "b1", 21, 950),
			shell("1.0.24", "b2", "c", 30),
		}, want{
			Context: 950,
		}},
		"bash mode of later clients": {
			[]string{shell("2.0.77", "b1", "e2", 20), reply("r3", "b1", 21, 950), shell("2.0.77", "b2", "e2", 30)},
			want{1, 900, second(12), second(21), 0},
		},
		"replayed": {
			[]string{say("p3", "e1", 20), reply("r3", "p3", 21, 150), say("p3", "e1", 20)},
			want{1, 150, second(3), second(12), 0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := NewFold("x", false)
			got := want{}
			for _, line := range append(append([]string(nil), two...), test.more...) {
				var e transcript.Entry
				if _, err := f.Line([]byte(line), len(line), &e); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if e.Rewound {
					got.Rewound++
					got.Left = e.Left
					got.Until = e.Until
					if tokens := known(&f.Session); tokens != e.Context {
						t.Errorf("the record tells %d tokens, the session %d", e.Context, tokens)
					}
				}
			}
			got.Context = known(&f.Session)
			got.Compactions = f.Session.Total()
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// known is a session's context size, 0 while it is unknown.
func known(s *transcript.Session) int64 {
	if tokens, ok := s.Context(); ok {
		return tokens
	}
	return 0
}

// TestPointsAreBounded: a session of many turns keeps the newest points alone.
func TestPointsAreBounded(t *testing.T) {
	f := NewFold("x", false)
	for i := range 3 * pointsKept {
		line := behind(fmt.Sprint("e", i), prompted(fmt.Sprint("p", i), `"Go on."`))
		f.Line([]byte(line), len(line), &transcript.Entry{})
		if n := len(f.chain.points); n == 0 || n > pointsKept {
			t.Fatalf("%d points after %d prompts", n, i+1)
		}
	}
}

func instantAt(t *testing.T, s string) transcript.Instant {
	t.Helper()
	at := when(s)
	if at == 0 {
		t.Fatal(s)
	}
	return at
}

// TestStampsAhead: a stamp ahead of its neighbours, or all of them from a clock that was
// set back, hide nothing that is written later.
func TestStampsAhead(t *testing.T) {
	hour := func(h, s int) string { return fmt.Sprintf("2026-11-20T%02d:00:%02d.000Z", 8+h, s) }
	tests := map[string]struct {
		lines []string
		want  int64 // 0: unknown
	}{
		"one record ahead": {
			[]string{reading("a", hour(0, 1), 20), reading("b", hour(1, 2), 30), reading("c", hour(0, 3), 140)},
			140,
		},
		"the first record ahead": {[]string{reading("b", hour(1, 2), 30), reading("c", hour(0, 3), 140)}, 140},
		"a compaction after it": {
			[]string{reading("b", hour(1, 2), 30), boundary("x", hour(0, 3), "auto", 30, "")},
			0,
		},
		"a reply after that": {
			[]string{
				reading("b", hour(1, 2), 30),
				boundary("x", hour(0, 3), "auto", 30, ""),
				reading("c", hour(0, 4), 12),
			},
			12,
		},
		"a compaction ahead": {
			[]string{
				reading("a", hour(0, 1), 20),
				boundary("x", hour(1, 3), "auto", 30, ""),
				reading("c", hour(0, 4), 12),
			},
			12,
		},
		"the last year that counts": {
			[]string{
				reading("a", hour(0, 1), 20),
				reading("b", "2261-11-20T08:00:02.000Z", 30),
				reading("c", hour(0, 3), 140),
			},
			140,
		},
		"a year that is none": {
			[]string{
				reading("a", hour(0, 1), 20),
				reading("b", "9999-11-20T08:00:02.000Z", 30),
				reading("c", hour(0, 3), 140),
			},
			140,
		},
		"a clock that was set back": {
			[]string{
				reading("a", hour(1, 1), 20),
				reading("b", hour(1, 2), 30),
				reading("c", hour(1, 3), 40),
				reading("d", hour(0, 4), 140),
				reading("e", hour(0, 5), 150),
			},
			150,
		},
		"and forward again": {
			[]string{
				reading("a", hour(1, 1), 20),
				reading("d", hour(0, 4), 140),
				reading("e", hour(1, 5), 150),
				reading("f", hour(1, 6), 160),
			},
			160,
		},
		"lines a moment out of order": {[]string{reading("a", hour(0, 3), 20), reading("b", hour(0, 2), 30)}, 20},
		"a fork before what it copies": {
			[]string{
				behind("z", reading("n", hour(2, 1), 500)),
				stamped(hour(0, 1), prompted("p", `"Begin."`)),
				behind("p", reading("y", hour(0, 2), 300)),
				behind("y", reading("z", hour(1, 2), 400)),
			},
			500,
		},
		"a fork that goes on": {
			[]string{
				behind("z", reading("n", hour(2, 1), 500)),
				behind("p", reading("z", hour(0, 2), 300)),
				behind("n", reading("m", hour(2, 5), 450)),
			},
			450,
		},
		"a fork whose clock is set back": {
			[]string{
				behind("z", reading("n", hour(2, 1), 500)),
				behind("p", reading("z", hour(0, 2), 300)),
				behind("n", reading("m", hour(2, 5), 450)),
				behind("m", reading("o", hour(1, 5), 470)),
			},
			470,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := folded(t, test.lines...).Session
			if got := known(&s); got != test.want {
				t.Errorf("context %d, want %d", got, test.want)
			}
		})
	}
}
