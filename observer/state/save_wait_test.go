package state

import (
	"errors"
	"runtime"
	"testing"

	"go.etcd.io/bbolt"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestOwnerWhileSaving: who asks whose a message is waits for no transaction that is being put together: the loop asks for
// each new message.
func TestOwnerWhileSaving(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	const message, owner = transcript.Key(7), transcript.Key(8)
	mustSave(t, s, fleet.Delta{Settled: true, Messages: []fleet.Claim{{Key: message, Owner: owner}}})
	begun, asked, saved := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		saved <- updateLocked(s, func(*bbolt.Tx) error {
			close(begun)
			<-asked
			return nil
		}, func() {})
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

// TestCloseWhileSaveFails: the end of a Store and that of a transaction that fails meanwhile do not wait for each other.
func TestCloseWhileSaveFails(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	refused := errors.New("refused")
	closed := make(chan error, 1)
	err := updateLocked(s, func(*bbolt.Tx) error {
		go func() { closed <- s.Close() }()
		for s.mu.TryLock() { // until Close has it
			s.mu.Unlock()
			runtime.Gosched()
		}
		return refused
	}, func() {})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
