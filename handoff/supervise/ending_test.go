package supervise

import (
	"testing"
	"time"

	"sm/handoff/proc"
)

// TestEndingGivesUp tests that only processes that hang in the kernel are left behind,
// however long a busy machine takes between two looks.
func TestEndingGivesUp(t *testing.T) {
	const none = 1 << 30 // no process has this id
	one := proc.Process{PID: none}
	hangs := one
	hangs.State = "D"
	next := proc.Process{PID: none + 1} // its parent was killed
	type look struct {
		at   time.Duration
		left []proc.Process
		over bool
	}
	for _, c := range []struct {
		name  string
		looks []look
	}{
		{
			"it is killed late",
			[]look{
				{0, []proc.Process{one}, false},
				{30 * time.Second, []proc.Process{one}, false},
				{31 * time.Second, []proc.Process{next}, false},
				{32 * time.Second, nil, true},
			},
		},
		{
			"it hangs",
			[]look{
				{0, []proc.Process{hangs}, false},
				{2 * time.Second, []proc.Process{hangs}, false},
				{6 * time.Second, []proc.Process{hangs}, false},
				{8 * time.Second, []proc.Process{hangs}, true},
			},
		},
		{
			"another one has just started to hang",
			[]look{
				{2 * time.Second, []proc.Process{hangs}, false},
				{8 * time.Second, []proc.Process{hangs, next}, false},
			},
		},
		{
			"it never ends",
			[]look{
				{2 * time.Second, []proc.Process{one}, false},
				{59 * time.Second, []proc.Process{one}, false},
				{61 * time.Second, []proc.Process{one}, true},
			},
		},
	} {
		began := time.Unix(0, 0)
		e := &ending{began: began, asked: map[Process]bool{}}
		for _, l := range c.looks {
			if over := e.look(began.Add(l.at), l.left); over != l.over {
				t.Errorf("%s, after %v: over is %v", c.name, l.at, over)
			}
		}
	}
}
