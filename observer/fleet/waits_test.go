package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// asks is the hook of a dialog that is open.
func asks(at float64, n int, message string) step {
	return hooked(at, n, hook.Payload{
		Event:            hook.Notification,
		NotificationType: "permission_prompt",
		Message:          message,
	}, from("em", 7))
}

// says is what the client's registry says of session n.
func says(at float64, n int, status, waiting string) step {
	return func(s *scene) {
		s.news.add(s.f.Clients([]Client{{
			PID:       7,
			ProcStart: "700",
			SessionID: uuid(n),
			Status:    status,
			Waiting:   waiting,
			Updated:   second(at),
		}}))
	}
}

// TestWaits: an agent with a dialog reported by a hook waits for a person until the dialog is answered. If the client's
// registry reports too, the newer report counts.
func TestWaits(t *testing.T) {
	const bash = "Claude needs your permission to use Bash"
	type waiting struct {
		Waits  bool
		Reason string
	}
	dialog := waiting{true, "permission: Bash"}
	o := from("em", 7)
	begins := []step{
		starts(1, 1, "startup", o),
		writes(1, prompt(stampOf(10), "p")),
		answers(12, 1, 30_000),
		asks(18, 1, bash),
	}
	for _, tt := range []struct {
		name string
		then []step
		want waiting
	}{
		{"open", nil, dialog},
		{"after a restart", []step{restarts}, dialog},
		{"a prompt", []step{fires(20, 1, hook.UserPromptSubmit, o)}, waiting{}},
		{"the tool was used", []step{fires(20, 1, hook.PostToolUse, o)}, waiting{}},
		{"the next tool", []step{fires(20, 1, hook.PreToolUse, o)}, waiting{}},
		{"the turn ended", []step{fires(20, 1, hook.Stop, o)}, waiting{}},
		{"the client ended", []step{hooked(20, 1, hook.Payload{
			Event:  hook.SessionEnd,
			Reason: "other",
		}, o)}, waiting{}},
		{"it was killed", []step{ends(7), buries(30)}, waiting{}},
		{"a record", []step{answers(20, 1, 31_000)}, waiting{}},
		{"a record from before comes late", []step{answers(17, 1, 31_000)}, dialog},
		{"a hook from before comes late", []step{fires(17, 1, hook.PreToolUse, o)}, dialog},
		{"a subagent goes on", []step{hooked(20, 1, hook.Payload{Event: hook.PostToolUse, AgentID: "a1"}, o)}, dialog},
		{
			"another dialog",
			[]step{fires(20, 1, hook.PostToolUse, o), asks(30, 1, "Claude needs your permission to use Write")},
			waiting{true, "permission: Write"},
		},
		{"on in another session", []step{starts(20, 2, "clear", o)}, waiting{}},
		{"the registry said so before", []step{says(12, 1, "waiting", "permission prompt")}, dialog},
		{"the registry knows no dialogs", []step{says(12, 1, "busy", "")}, dialog},
		{"the registry says since that it works", []step{says(20, 1, "busy", "")}, waiting{}},
		{"the registry says since that it rests", []step{says(20, 1, "idle", "")}, waiting{}},
		{
			"the registry says since that it waits",
			[]step{says(20, 1, "waiting", "dialog open")},
			waiting{true, "dialog open"},
		},
		{
			"the registry alone",
			[]step{fires(20, 1, hook.PostToolUse, o), says(19, 1, "waiting", "")},
			waiting{true, ""},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t).play(begins...).play(tt.then...)
			v, err := s.f.View("em", second(60))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, waiting{v.Waits, v.Reason}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestWaitsUnderABackwardClock: a dialog from before the clock was set back does not stay for ever.
func TestWaitsUnderABackwardClock(t *testing.T) {
	o := from("em", 7)
	s := newScene(t).play(starts(1, 1, "startup", o), writes(1, prompt(stampOf(10), "p")))
	s.f.Clock(second(1_000))
	s.play(asks(1_000, 1, "Claude needs your permission to use Bash"))
	s.f.Clock(second(100))
	s.play(fires(120, 1, hook.PostToolUse, o))
	if v, err := s.f.View("em", second(130)); err != nil || v.Waits {
		t.Errorf("waits for %q (%v)", v.Reason, err)
	}
}
