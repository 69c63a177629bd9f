package fleet

import (
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

const (
	prompted = hook.UserPromptSubmit
	used     = hook.PostToolUse
	stopped  = hook.Stop
	left     = hook.SessionEnd
)

// TestIdentity: identities by hooks, status lines, the registry and transcripts, in the
// order of the reports. Each case is a way in which clients behave.
func TestIdentity(t *testing.T) {
	em := from("em", 7)
	bare := from("", 7)
	for _, c := range []struct {
		name  string
		steps []step
		want  standing
	}{
		{"the first hook of an unknown agent", []step{starts(1, 1, "startup", em)}, standing{
			Sits: map[string]int{"em": 1},
		}},
		{"the first report of an unknown agent", []step{shows(1, 1, 0, em)}, standing{Sits: map[string]int{"em": 1}}},
		{"the first hook of a client without a name", []step{starts(1, 1, "startup", bare)}, standing{
			Sits: map[string]int{"#1": 1},
		}},
		{"known by its transcript, then by a hook", []step{answers(1, 1, 9_000), fires(2, 1, prompted, em)},
			standing{Sits: map[string]int{"em": 1}, Renamed: []string{"#1 to em"}}},
		{"known by its transcript and the registry, then by a report", []step{
			answers(1, 1, 9_000),
			holds(2, 7, 1),
			shows(3, 1, 9_000, em),
		},
			standing{Sits: map[string]int{"em": 1}, Renamed: []string{"#1 to em"}}},
		{"known by its transcript, then by a hook without a name", []step{
			answers(1, 1, 9_000),
			fires(2, 1, prompted, bare),
		},
			standing{Sits: map[string]int{"#1": 1}}},
		{"/clear, told by the hook first", []step{
			starts(1, 1, "startup", em), holds(1, 7, 1), shows(2, 1, 9_000, em),
			fires(
				10,
				1,
				left,
				em,
			), starts(
				10.1,
				2,
				"clear",
				em,
			), holds(
				10,
				7,
				2,
			), shows(
				10.4,
				2,
				0,
				em,
			), fires(
				20,
				2,
				prompted,
				em,
			), answers(
				21,
				2,
				9_000,
			),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em clear 2"}}},
		{"/clear, told by the registry first", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), holds(
				1,
				7,
				1,
			), holds(
				10,
				7,
				2,
			), starts(
				10.1,
				2,
				"clear",
				em,
			), shows(
				10.4,
				2,
				0,
				em,
			),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em session 2"}}},
		{"/clear, told by the status line first", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), holds(
				1,
				7,
				1,
			), shows(
				10.4,
				2,
				0,
				em,
			), starts(
				10.1,
				2,
				"clear",
				em,
			), holds(
				10,
				7,
				2,
			),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em session 2"}}},
		{"/clear, after its transcript", []step{
			starts(1, 1, "startup", em), answers(2, 1, 9_000), answers(11, 2, 9_000), starts(10.1, 2, "clear", em),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Resets:  []string{"em clear 2"},
			Renamed: []string{"#2 to em"},
		}},
		{"what comes late of the session before", []step{
			starts(1, 1, "startup", em), starts(10.1, 2, "clear", em),
			fires(10.9, 1, stopped, em), shows(10.6, 1, 90_000, em), fires(9, 1, used, em), shows(9, 1, 90_000, em),
			fires(11, 1, left, em), starts(1, 1, "startup", em),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em clear 2"}}},
		{"/clear twice, and all of the first comes late", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				20,
				3,
				"clear",
				em,
			), starts(
				10,
				2,
				"clear",
				em,
			), shows(
				10.4,
				2,
				0,
				em,
			), fires(
				21,
				2,
				stopped,
				em,
			),
		}, standing{
			Sits:   map[string]int{"em": 3},
			Left:   map[int]string{1: "em", 2: "em"},
			Resets: []string{"em clear 3"},
		}},
		{"/clear twice, and the first is known by its transcript alone", []step{
			starts(1, 1, "startup", em), answers(11, 2, 9_000), starts(20, 3, "clear", em), starts(10, 2, "clear", em),
		}, standing{
			Sits:    map[string]int{"em": 3},
			Left:    map[int]string{1: "em", 2: "em"},
			Resets:  []string{"em clear 3"},
			Renamed: []string{"#2 to em"},
		}},
		{"a prompt of the session before, a moment after /clear", []step{
			starts(1, 1, "startup", em),
			starts(10, 2, "clear", em),
			fires(12, 1, prompted, em),
		},
			standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em clear 2"}}},
		{"/resume of a session of its own", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				10,
				2,
				"clear",
				em,
			), fires(
				20,
				2,
				left,
				em,
			), starts(
				20.1,
				1,
				"resume",
				em,
			),
			shows(20.3, 1, 9_000, em), fires(20.4, 2, stopped, em), shows(20, 2, 500, em), fires(30, 1, prompted, em),
		}, standing{
			Sits:   map[string]int{"em": 1},
			Left:   map[int]string{2: "em"},
			Resets: []string{"em clear 2", "em session 1"},
		}},
		{"/resume of a session that nobody had", []step{
			starts(1, 1, "startup", em), answers(2, 3, 9_000), starts(20.1, 3, "resume", em), shows(20.3, 3, 9_000, em),
		}, standing{
			Sits:    map[string]int{"em": 3},
			Left:    map[int]string{1: "em"},
			Resets:  []string{"em session 3"},
			Renamed: []string{"#3 to em"},
		}},
		{"/resume that only a prompt tells", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				10,
				2,
				"clear",
				em,
			), fires(
				12,
				1,
				prompted,
				em,
			), shows(
				30,
				1,
				9_000,
				em,
			), fires(
				31,
				1,
				used,
				em,
			),
			fires(40, 1, prompted, em), fires(50, 2, prompted, from("em", 0)),
		}, standing{
			Sits:   map[string]int{"em": 1},
			Left:   map[int]string{2: "em"},
			Resets: []string{"em clear 2", "em session 1"},
		}},
		{"/resume told by the registry alone", []step{
			starts(1, 1, "startup", em), holds(1, 7, 1), starts(10, 2, "clear", em), holds(10, 7, 2), holds(30, 7, 1),
		}, standing{
			Sits:   map[string]int{"em": 1},
			Left:   map[int]string{2: "em"},
			Resets: []string{"em clear 2", "em session 1"},
		}},
		{"a fork, whose SessionStart names the old session", []step{
			starts(1, 1, "startup", em), fires(9, 1, left, em), ends(7), starts(10, 1, "resume", from("em", 8)),
			shows(
				10.3,
				2,
				9_000,
				from("em", 8),
			), fires(
				11,
				1,
				stopped,
				from("em", 8),
			), fires(
				20,
				2,
				prompted,
				from("em", 8),
			),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em session 2"}}},
		{"continued in the background, told by the hook first", []step{
			starts(
				1,
				1,
				"startup",
				bare,
			), answers(
				2,
				1,
				9_000,
			), fires(
				10,
				1,
				left,
				bare,
			), starts(
				10.1,
				2,
				"fork",
				from("", 8),
			),
			fires(
				10.2,
				2,
				prompted,
				from("", 8),
			), continues(
				10.3,
				1,
				2,
			), fires(
				20,
				2,
				stopped,
				from("", 8),
			), answers(
				21,
				2,
				9_500,
			),
		}, standing{
			Sits:    map[string]int{"#1": 2},
			Left:    map[int]string{1: "#1"},
			Resets:  []string{"#1 session 2"},
			Renamed: []string{"#2 to #1"},
		}},
		{"continued in the background, told by the transcript first", []step{
			starts(1, 1, "startup", bare), answers(2, 1, 9_000), continues(10, 1, 2), fires(10, 1, left, bare),
			starts(10.1, 2, "fork", from("", 8)), fires(20, 2, stopped, from("", 8)), answers(21, 2, 9_500),
		}, standing{Sits: map[string]int{"#1": 2}, Left: map[int]string{1: "#1"}, Resets: []string{"#1 session 2"}}},
		{"continued in the background, told by the transcript alone", []step{
			answers(2, 1, 9_000),
			continues(10, 1, 2),
			answers(21, 2, 9_500),
		},
			standing{Sits: map[string]int{"#1": 2}, Left: map[int]string{1: "#1"}, Resets: []string{"#1 session 2"}}},
		{"continued by an agent of another name", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), answers(
				2,
				1,
				9_000,
			), starts(
				10.1,
				2,
				"fork",
				from("pm", 8),
			), fires(
				10.2,
				2,
				prompted,
				from("pm", 8),
			), continues(
				10.3,
				1,
				2,
			),
		}, standing{Sits: map[string]int{"em": 1, "pm": 2}}},
		{"a fork of another agent's session", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				10,
				1,
				"fork",
				from("web", 8),
			), shows(
				10.3,
				2,
				9_000,
				from("web", 8),
			), fires(
				11,
				1,
				used,
				em,
			),
		}, standing{Sits: map[string]int{"em": 1, "web": 2}}},
		{"a session that another agent takes up", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), ends(7), starts(
				10,
				1,
				"resume",
				from("web", 8),
			), fires(
				11,
				1,
				prompted,
				from("web", 8),
			),
		}, standing{Sits: map[string]int{"em": 0, "web": 1}}},
		{"a client without any name goes on after /clear", []step{
			starts(
				1,
				1,
				"startup",
				bare,
			), starts(
				10,
				2,
				"clear",
				bare,
			), shows(
				10.3,
				2,
				0,
				bare,
			), fires(
				10.9,
				1,
				stopped,
				bare,
			),
		}, standing{Sits: map[string]int{"#1": 2}, Left: map[int]string{1: "#1"}, Resets: []string{"#1 clear 2"}}},
		{"so does one that the registry showed first", []step{
			answers(1, 1, 9_000), holds(2, 7, 1), starts(10, 2, "clear", bare), holds(10, 7, 2),
		}, standing{Sits: map[string]int{"#1": 2}, Left: map[int]string{1: "#1"}, Resets: []string{"#1 clear 2"}}},
		{"another process of the same pid is another agent", []step{
			starts(1, 1, "startup", bare), starts(10, 2, "startup", hook.Origin{PID: 7, Start: "800"}),
		}, standing{Sits: map[string]int{"#1": 1, "#2": 2}}},
		{"a client that does not say when it began is its session", []step{
			starts(1, 1, "startup", hook.Origin{PID: 7}), starts(10, 2, "clear", hook.Origin{PID: 7}),
		}, standing{Sits: map[string]int{"#1": 1, "#2": 2}}},
		{"a pane, over /clear", []step{
			starts(
				1,
				1,
				"startup",
				inPane("%3", 50, 7),
			), starts(
				10,
				2,
				"clear",
				inPane("%3", 50, 7),
			), starts(
				11,
				3,
				"startup",
				inPane("%4", 50, 8),
			),
		}, standing{Sits: map[string]int{
			"tmux-3-" + paneHash: 2,
			"tmux-4-" + paneHash: 3,
		}, Left: map[int]string{1: "tmux-3-" + paneHash},
			Resets: []string{"tmux-3-" + paneHash + " clear 2"}}},
		{"subagents' hooks change nothing", []step{
			starts(1, 1, "startup", em), hooked(2, 2, hook.Payload{
				Event:   used,
				AgentID: "a1",
			}, em), hooked(3, 3, hook.Payload{
				Event:   hook.PreCompact,
				AgentID: "?",
			}, from("web", 8)),
		}, standing{Sits: map[string]int{"em": 1}}},
		{"a registry that lags behind two /clears", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), holds(
				1,
				7,
				1,
			), starts(
				10,
				2,
				"clear",
				em,
			), starts(
				20,
				3,
				"clear",
				em,
			), holds(
				10,
				7,
				2,
			), holds(
				20,
				7,
				3,
			),
		}, standing{
			Sits:   map[string]int{"em": 3},
			Left:   map[int]string{1: "em", 2: "em"},
			Resets: []string{"em clear 2", "em clear 3"},
		}},
		{"an observer that comes when a session ends by /clear", []step{
			fires(10, 1, left, em),
			starts(10.1, 2, "clear", em),
		},
			standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em clear 2"}}},
		{"the last Stop of a session that nobody knew", []step{
			starts(
				10.1,
				2,
				"clear",
				em,
			), fires(
				10.9,
				1,
				stopped,
				em,
			), fires(
				10.9,
				1,
				left,
				em,
			), fires(
				9,
				1,
				stopped,
				em,
			), fires(
				20,
				2,
				prompted,
				em,
			),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}}},
		{"an observer that comes in the middle, and a /clear", []step{
			answers(
				1,
				1,
				9_000,
			), holds(
				1,
				7,
				1,
			), starts(
				10,
				2,
				"clear",
				em,
			), holds(
				10,
				7,
				2,
			), fires(
				20,
				2,
				prompted,
				em,
			),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Resets:  []string{"em session 2"},
			Renamed: []string{"#1 to em"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(c.steps...)
			s.check(c.want)
			again := s.standing()
			s.play(restarts)
			s.check(again)
		})
	}
}

// paneHash separates the tmux server of inPane with pid 50 from others.
var paneHash = hook.TmuxAgent("/tmp/tmux-1/default", 50, "%3")[len("tmux-3-"):]

// TestResetTime: a cycle begins with the first record of a new session, however late that
// becomes known; but after all reports of the session before, and no later than the
// signal that reports it.
func TestResetTime(t *testing.T) {
	em := from("em", 7)
	for name, c := range map[string]struct {
		steps []step
		want  float64 // of the last one
	}{
		"by the registry, after a hook": {
			[]step{starts(1, 1, "startup", em), holds(5, 7, 1), fires(50, 1, stopped, em), holds(5, 7, 2)},
			50,
		},
		"by the registry, after a report": {
			[]step{starts(1, 1, "startup", em), holds(5, 7, 1), shows(60, 1, 9_000, em), holds(5, 7, 2)},
			60,
		},
		"by the registry, when its status is new": {
			[]step{starts(1, 1, "startup", em), holds(5, 7, 1), fires(50, 1, stopped, em), holds(70, 7, 2)},
			70,
		},
		"by the registry, after a reply": {
			[]step{starts(1, 1, "startup", em), holds(5, 7, 1), answers(55, 1, 9_000), holds(5, 7, 2)},
			55,
		},
		"after its first record": {
			[]step{
				starts(1, 1, "startup", em),
				answers(2, 1, 9_000),
				answers(20, 2, 9_000),
				starts(30, 2, "clear", em),
			},
			20,
		},
		"before its first record": {
			[]step{starts(1, 1, "startup", em), starts(30, 2, "clear", em), answers(31, 2, 9_000)},
			30,
		},
		"of a session that is older than what was before": {[]step{
			starts(
				1,
				1,
				"startup",
				em,
			), answers(
				2,
				1,
				9_000,
			), starts(
				10,
				2,
				"clear",
				em,
			), answers(
				11,
				2,
				9_000,
			), starts(
				20,
				1,
				"resume",
				em,
			), fires(
				21,
				1,
				prompted,
				em,
			),
			answers(40, 1, 150_000), starts(50, 2, "resume", em), fires(51, 2, prompted, em),
		}, 40},
		"of one that overlaps with a report": {
			[]step{
				starts(1, 1, "startup", em),
				answers(20, 2, 9_000),
				shows(25, 1, 9_000, em),
				starts(30, 2, "clear", em),
			},
			25,
		},
	} {
		var got float64
		for _, ev := range newScene(t).play(c.steps...).news.Events {
			if ev.Kind == alerts.EventReset {
				got = ev.At.Sub(created).Truncate(time.Millisecond).Seconds()
			}
		}
		if got != c.want {
			t.Errorf("%s: at %v s, want %v s", name, got, c.want)
		}
	}
}
