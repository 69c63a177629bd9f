package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecent tests that Recent returns what All does, except sessions inactive for long.
func TestRecent(t *testing.T) {
	past := 0
	shown := 0
	for seed := range uint64(10) {
		s := newScenario(t)
		for _, x := range newCrowd(seed, true).reports {
			s.play(x.do)
		}
		f := s.f
		now := second(1_000)
		for _, ttl := range []time.Duration{
			0,
			time.Minute,
			5 * time.Minute,
			10 * time.Minute,
			time.Hour,
		} {
			var want []View
			gone := 0
			for v := range f.All(now) {
				switch {
				case v.Left:
					past++
				case ttl > 0 && v.Client.PID == 0 && now.Sub(v.Last.Time()) > ttl:
					gone++
				default:
					want = append(want, v)
				}
			}
			shown += len(want)
			got, others := f.Recent(now, ttl, "")
			order := func(a, b View) int {
				return strings.Compare(
					a.Agent.ID+a.SessionID,
					b.Agent.ID+b.SessionID,
				)
			}
			slices.SortFunc(want, order)
			slices.SortFunc(got, order)
			if diff := cmp.Diff(want, got); diff != "" || others != gone {
				t.Errorf(
					"seed %d, %v: %d others, want %d (-want +got):\n%s",
					seed,
					ttl,
					others,
					gone,
					diff,
				)
			}
		}
	}
	if past == 0 || shown == 0 {
		t.Errorf("got %d past sessions and %d visible ones: too few for this test", past, shown)
	}
}
