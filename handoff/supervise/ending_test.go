package supervise

import (
	"testing"
	"time"
)

// TestEndingGivesUp: only what hangs in the kernel is left behind, however long
// a busy machine takes between two looks.
func TestEndingGivesUp(t *testing.T) {
	const none = 1 << 30 // no process has this number
	one := child{Process: Process{PID: none}}
	hangs := one
	hangs.hangs = true
	next := child{Process: Process{PID: none + 1}} // has lost its parent by the kill
	type look struct {
		at   time.Duration
		left []child
		over bool
	}
	for _, c := range []struct {
		name  string
		looks []look
	}{
		{
			"it is killed late",
			[]look{
				{0, []child{one}, false},
				{30 * time.Second, []child{one}, false},
				{31 * time.Second, []child{next}, false},
				{32 * time.Second, nil, true},
			},
		},
		{
			"it hangs",
			[]look{
				{0, []child{hangs}, false},
				{2 * time.Second, []child{hangs}, false},
				{6 * time.Second, []child{hangs}, false},
				{8 * time.Second, []child{hangs}, true},
			},
		},
		{
			"another hangs since a moment",
			[]look{
				{2 * time.Second, []child{hangs}, false},
				{8 * time.Second, []child{hangs, next}, false},
			},
		},
		{
			"it never ends",
			[]look{
				{2 * time.Second, []child{one}, false},
				{59 * time.Second, []child{one}, false},
				{61 * time.Second, []child{one}, true},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Unix(0, 0)
			e := &ending{began: began, asked: map[Process]bool{}}
			for _, l := range c.looks {
				if over := e.look(began.Add(l.at), l.left); over != l.over {
					t.Errorf("after %v: over is %v, want %v", l.at, over, l.over)
				}
			}
		})
	}
}
