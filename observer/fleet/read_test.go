package fleet

import (
	"testing"
	"time"

	"sm/alerts"
)

// The answer to a SessionStart shows in the transcript with the next prompt: until then
// its end is unknown, however long the agent is at its prompt.
func TestReadUntil(t *testing.T) {
	const begun, offered = 100, 100.2
	o := from("web", 7)
	first := starts(0, 1, "startup", o)
	tests := []struct {
		name    string
		steps   []step
		offered float64
		now     float64
		want    float64 // below 0: there is no transcript
	}{
		{"at rest", []step{first, answers(50, 1, 9000)}, 60, 300, 295},
		{"taken up again", []step{first, answers(50, 1, 9000), starts(begun, 1, "resume", o)}, offered, 300, 50},
		{"an offer from before", []step{first, answers(50, 1, 9000), starts(begun, 1, "resume", o)}, 99, 300, 295},
		{"an offer long after", []step{first, answers(50, 1, 9000), starts(begun, 1, "resume", o)}, 120, 300, 295},
		{
			"a newer record",
			[]step{first, answers(50, 1, 9000), starts(begun, 1, "resume", o), answers(110, 1, 9500)},
			offered,
			300,
			295,
		},
		{
			"its client has gone",
			[]step{first, answers(50, 1, 9000), starts(begun, 1, "resume", o), ends(7)},
			offered,
			300,
			295,
		},
		{"another client goes on", []step{
			first, answers(
				50,
				1,
				9000,
			), starts(
				begun,
				1,
				"resume",
				o,
			), ends(7), starts(
				130,
				1,
				"resume",
				from("web", 8),
			),
		}, offered, 300, 295},
		{"before a clear", []step{first, answers(50, 1, 9000), starts(begun, 2, "clear", o)}, 60, 300, 295},
		{"at a clear", []step{first, answers(50, 1, 9000), starts(begun, 2, "clear", o)}, offered, 300, 0},
		{"long after a clear", []step{first, answers(50, 1, 9000), starts(begun, 2, "clear", o)}, 120, 300, 295},
		{"without a transcript so far", []step{starts(begun, 1, "startup", o)}, offered, 300, 0},
		{"without a transcript", []step{starts(begun, 1, "startup", o)}, 120, 300, -1},
		{"gone without a transcript", []step{starts(begun, 1, "startup", o), ends(7)}, offered, 300, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t).play(tt.steps...)
			until, any := s.f.ReadUntil(alerts.AgentID("web"), second(tt.offered), second(tt.now))
			want := time.Time{}
			if tt.want > 0 {
				want = second(tt.want)
			}
			if !until.Equal(want) || any != (tt.want >= 0) {
				t.Errorf("read until %v, %v; want %v, %v", until, any, want, tt.want >= 0)
			}
		})
	}
}

// What was typed shows at once, also while the client starts.
func TestReadUntilOfWhatWasTyped(t *testing.T) {
	s := newScene(t).play(
		starts(0, 1, "startup", from("web", 7)),
		answers(50, 1, 9000),
		starts(100, 1, "resume", from("web", 7)),
	)
	if until, any := s.f.ReadUntil("web", time.Time{}, second(300)); !until.Equal(second(295)) || !any {
		t.Errorf("read until %v, %v", until, any)
	}
}
