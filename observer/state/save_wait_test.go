package state

import (
	"testing"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestOwnerWhileSaving tests that Owner, which the loop calls for each new message, does not
// wait for a transaction.
func TestOwnerWhileSaving(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	const message, owner = transcript.Key(7), transcript.Key(8)
	mustSave(t, s, fleet.Delta{
		Settled:  true,
		Messages: []fleet.Claim{{Key: message, Owner: owner}},
	})
	begun := make(chan struct{})
	asked := make(chan struct{})
	saved := make(chan error)
	go func() {
		saved <- updateLocked(s, func(*writer) error {
			close(begun)
			<-asked
			return nil
		})
	}()
	<-begun
	if got, ok := s.Owner(message); !ok || got != owner {
		t.Errorf("owner %v %v, want %v", got, ok, owner)
	}
	close(asked)
	noErrors(t, <-saved)
}
