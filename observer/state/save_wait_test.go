package state

import (
	"errors"
	"runtime"
	"testing"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestOwnerWhileSaving: Owner, which the loop calls for each new message, does not wait
// for a transaction.
func TestOwnerWhileSaving(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	const message, owner = transcript.Key(7), transcript.Key(8)
	mustSave(t, s, fleet.Delta{Settled: true, Messages: []fleet.Claim{{Key: message, Owner: owner}}})
	begun := make(chan struct{})
	asked := make(chan struct{})
	saved := make(chan error)
	go func() {
		saved <- updateLocked(s, func(*writer) {
			close(begun)
			<-asked
		})
	}()
	<-begun
	if got, ok := s.Owner(message); !ok || got != owner {
		t.Errorf("owner %v %v, want %v", got, ok, owner)
	}
	close(asked)
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
}

// TestCloseWhileSaveFails: Close and a failing transaction do not deadlock.
func TestCloseWhileSaveFails(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	refused := errors.New("refused")
	closed := make(chan error, 1)
	err := updateLocked(s, func(w *writer) {
		go func() { closed <- s.Close() }()
		for s.mu.TryLock() { // until Close has it
			s.mu.Unlock()
			runtime.Gosched()
		}
		w.err = refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
