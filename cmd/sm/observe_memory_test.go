package main

import "testing"

// TestGarbagePercent: many transcripts leave less room for garbage.
func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	for transcripts, want := range map[int]int{0: 50, 19_999: 50, 20_000: 25, 1_000_000: 25} {
		if got := garbagePercent(transcripts); got != want {
			t.Errorf("%d transcripts: %d %%, want %d %%", transcripts, got, want)
		}
	}
}
