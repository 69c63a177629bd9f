package fleet

import (
	"fmt"
	"testing"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
)

// TestFollowsIsBounded: an agent that goes from session to session for ever, or back and on, takes no more memory.
func TestFollowsIsBounded(t *testing.T) {
	f := New(Options{Clients: clientstest.Table()}, Stored{Settled: true})
	f.worked["kept"] = &worked{done: transcript.Worked{}}
	for i := range 10 * workedKept {
		f.goOn(fmt.Sprint(i), &SessionRecord{SessionID: fmt.Sprint(i + 1)})
		f.goOn("kept", &SessionRecord{SessionID: fmt.Sprint("again ", i)})
		if n := len(f.after); n > workedKept {
			t.Fatalf("%d sessions are kept after %d switches", n, i+1)
		}
	}
	if last := fmt.Sprint("again ", 10*workedKept-1); f.after[last] != "kept" {
		t.Error("the newest switch is forgotten")
	}
}
