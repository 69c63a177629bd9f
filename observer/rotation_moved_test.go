package observer

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sm/observer/api"
)

// TestRotation_RunWhoseNameMoved tests that a run restarts its own client alone, also after
// the client's name has been given to another.
func TestRotation_RunWhoseNameMoved(t *testing.T) {
	t.Parallel()
	r, c, a := newRotationRig(t, autoRotate)
	b := c.newPane("w2", 4)
	b.works("Go.")
	r.joins("w1", fmt.Sprintf(`,"claude_session_id":%q`, b.session))
	ctx, cancel := context.WithCancel(context.Background())
	orders := make(chan api.Instruction, 1)
	go func() {
		in, _ := r.app.NextInstruction(ctx, "w1", api.Run{
			Client:       os.Getpid(),
			Start:        a.start,
			CanRestart:   true,
			RestartsLeft: 10,
		}, nil)
		orders <- in
	}()
	r.until("it has polled", func() bool { return r.polled("w1")+r.polled(a.session) > 0 })
	for _, x := range []*fakeClient{b, a} { // w1 is the one in b
		x.context = 131_000
		x.works("Grow.")
		x.ends()
	}
	r.until("a handoff is scheduled", func() bool { return len(r.handoffs()) > 0 })
	in := <-orders
	cancel()
	for _, h := range r.handoffs() {
		if h.ID == in.Rotation && h.SessionID != a.session {
			t.Errorf("the run of %s is to restart the client of %s", a.session, h.SessionID)
		}
	}
}
