package fleet

import (
	"strings"
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/claude/hook"
)

// TestUndecidedCompactions tests that the counter of an automatic compaction waits for the
// record that decides its trigger, across a restart, but at most 5 s.
func TestUndecidedCompactions(t *testing.T) {
	newest := func(line string) string {
		return strings.ReplaceAll(line, "2.1.44", "2.1.330")
	}
	reads := newest(reply(after(1), "m1", 100_000, 10))
	compacted := newest(boundary(after(2), "b1", "auto", 100_010))
	notice := `{"type":"system","subtype":"informational","uuid":"n1","content":"Compacted while idle, before"}`
	tests := map[string]struct {
		next    string // the record after the boundary, "" for none within 5 s
		restart bool
		want    transcript.Trigger
	}{
		"notice": {notice, false, transcript.Idle},
		"reply": {
			newest(reply(after(3), "m2", 9_000, 10)),
			false,
			transcript.Auto,
		},
		"nothing":                 {"", false, transcript.Auto},
		"notice after a restart":  {notice, true, transcript.Idle},
		"nothing after a restart": {"", true, transcript.Auto},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			p := ofSession(1, reads)
			f := s.unsettled()
			f.Settle(created)
			f.Apply(p.met())
			f.Clock(created.Add(2 * time.Minute))
			f.Apply(p.add(newest(prompt(after(2), "p1")), compacted).grown())
			f.Decide(created.Add(2*time.Minute + time.Second))
			if n := f.Counters().Compactions; n != [4]uint64{} {
				t.Fatalf("counted %v before the trigger is final", n)
			}
			if test.restart {
				d, _ := f.Take()
				s.put(d)
				f = s.restored(t)
			}

			if test.next == "" {
				f.Decide(created.Add(2*time.Minute + 10*time.Second))
			} else {
				f.Apply(p.add(test.next).grown())
			}
			f.Decide(created.Add(time.Hour))

			var want [4]uint64
			want[test.want] = 1
			if got := f.Counters().Compactions; got != want {
				t.Errorf("counted %v, want %v", got, want)
			}
		})
	}
}

// TestHookBeforeSettle tests that a client may report before the history has been read, and
// before its transcript exists.
func TestHookBeforeSettle(t *testing.T) {
	f := unsettled()
	f.Hook(&hook.Payload{SessionID: uuid(1), Event: hook.SessionStart}, afterwards)
	f.Settle(created)
	if views := f.Views(created); len(views) != 1 || views[0].Agent.ID != uuid(1) {
		t.Errorf("got %+v", views)
	}
}
