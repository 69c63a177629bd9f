package state

import (
	"sync"
	"testing"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestWritingDownOnlyReads: the loop goes on reading the totals of a session while they are written down. The race detector
// sees where that changes them.
func TestWritingDownOnlyReads(t *testing.T) {
	t.Parallel()
	s := sampleRecord(1)
	s.Totals = &fleet.Totals{List: []fleet.Total{{USD: 1.5, PID: 7}}}
	s.Totals.Bills.List = []transcript.Bill{{Done: true, Files: []transcript.Reread{{Name: "a.go", Reads: 2}}}}
	var sum float64
	var reading sync.WaitGroup
	reading.Go(func() {
		for range 1000 {
			b := &s.Totals.Bills.List[0]
			if b.Done && len(b.Files) == 1 {
				sum += s.Totals.List[0].USD
			}
		}
	})
	record := s // as the loop hands it out, with the same lists
	for range 1000 {
		(&coder{}).sessionRecord(&record)
	}
	reading.Wait()
	if sum != 1500 {
		t.Errorf("it has become %v: %+v", sum, s.Totals)
	}
}
