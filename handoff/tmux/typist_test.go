package tmux

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// attach is a terminal in which somebody looks at a pane: a pane of another server.
func (r *rig) attach(a *agent) (outer *rig) {
	r.t.Helper()
	outer = newIdleRig(r.t, Options{})
	outer.tmux(
		"new-session",
		"-d",
		"-x",
		"80",
		"-y",
		"24",
		"env",
		"TMUX=",
		r.binary,
		"-u",
		"-S",
		r.socket,
		"attach",
		"-t",
		"keep:",
	)
	r.until("a terminal is attached", func() bool { return r.tmux("list-clients") != "" })
	r.tmux("select-window", "-t", a.pane.ID)
	return outer
}

// TestTypist types while somebody begins lines at random moments and deletes them again,
// never pressing Enter. What is submitted is then all sm's, and must hold nothing else.
// SM_TYPIST says for how many seconds.
func TestTypist(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	r := newRig(t, Options{Quiet: time.Second, Echo: 3 * time.Second})
	a := r.startWindow()
	outer := r.attach(a)
	end := time.Now().Add(time.Duration(count(t, "SM_TYPIST", 3)) * time.Second)
	var wg sync.WaitGroup
	wg.Go(func() {
		random := rand.New(rand.NewPCG(4, 0))
		for time.Now().Before(end) {
			// The moments are what is tried here, so this waits for nothing but time.
			time.Sleep(time.Duration(random.IntN(2500)) * time.Millisecond)
			n := 1 + random.IntN(5)
			for range n {
				outer.try("send-keys", "-l", "x")
				time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
			}
			for range n {
				outer.try("send-keys", "BSpace")
			}
		}
	})
	sent := map[string]bool{}
	found := map[Reason]int{}
	for i := 0; time.Now().Before(end); i++ {
		text := fmt.Sprintf("[sm test] a message #%06x", i)
		sent[text] = true
		err := a.typed(text)
		found[ReasonOf(err)]++
		if PastedIn(err) {
			a.order("clear")
		}
	}
	wg.Wait()
	a.r.until("all are read", func() bool { return len(a.submitted()) >= found[ReasonNone] })
	for _, text := range a.submitted() {
		if !sent[text] || strings.Contains(text, "x") {
			t.Errorf("submitted %q", text)
		}
	}
	t.Logf("%d submitted, none with another's text; outcomes: %v", len(a.submitted()), found)
}
