package fleet

import (
	"testing"

	"sm/transcript/claude/hook"
)

// TestReplyRead: a Stop hook comes before the reply that ended its turn can be read. There
// is something to wait for only where the transcript has shown replies, and none since the
// agent's hooks before.
func TestReplyRead(t *testing.T) {
	em := from("em", 7)
	for _, c := range []struct {
		name  string
		steps []step
		want  bool
	}{
		{"nobody knows the agent", nil, true},
		{"no transcript", []step{fires(1, 1, prompted, em)}, true},
		{
			"the first prompt, and no reply yet",
			[]step{fires(1, 1, prompted, em), writes(1, prompt(stampOf(1), "p1"))},
			true,
		},
		{"the reply has been read", []step{fires(1, 1, prompted, em), answers(2, 1, 9_000)}, true},
		{"it has not", []step{answers(1, 1, 9_000), fires(2, 1, prompted, em)}, false},
		{
			"one before a tool's has",
			[]step{answers(1, 1, 9_000), fires(2, 1, prompted, em), answers(3, 1, 9_100), fires(4, 1, used, em)},
			false,
		},
		{
			"the session has been left",
			[]step{answers(1, 1, 9_000), fires(2, 1, prompted, em), starts(3, 2, "clear", em)},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(c.steps...)
			if got := s.f.ReplyRead(&hook.Payload{SessionID: uuid(1), Event: hook.Stop, SM: em}); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
