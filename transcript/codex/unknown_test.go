package codex

import "testing"

// TestKnownNames tests that recorded transcripts contain no unknown name.
func TestKnownNames(t *testing.T) {
	eachThread(t, func(t *testing.T, dir string, th thread) {
		foldThread(t, dir, th, func(f *Fold) {
			if u := f.Take().Unknown; u != nil {
				t.Errorf("unknown names: %v", u)
			}
		})
	})
}
