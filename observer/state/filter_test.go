package state

import (
	"math"
	"math/rand/v2"
	"testing"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestFilter: what was added is known, and little else, however the numbers lie.
func TestFilter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for name, key := range map[string]func(i uint64) uint64{
		"hashes":      func(uint64) uint64 { return r.Uint64() },
		"in a row":    func(i uint64) uint64 { return i },
		"high":        func(i uint64) uint64 { return i << 40 },
		"in one go":   func(uint64) uint64 { return r.Uint64() },
		"step by two": func(i uint64) uint64 { return 1<<63 + 2*i },
	} {
		var f filter
		const n = 50_000
		if name == "in one go" {
			f.grow(n)
		}
		keys := make([]uint64, 2*n)
		for i := range keys {
			keys[i] = key(uint64(i))
		}
		for _, k := range keys[:n] {
			f.add(k)
		}
		missing, more, bytes := 0, 0, 0
		for i, k := range keys {
			switch known := f.has(k); {
			case i < n && !known:
				missing++
			case i >= n && known:
				more++
			}
		}
		for _, p := range f {
			bytes += 8 * len(p.words)
		}
		if missing > 0 || more > n/5 || bytes > 4*n {
			t.Errorf("%s: %d of %d are missing, %d others are taken for known, in %d bytes", name, missing, n, more, bytes)
		}
		if name == "in one go" && (len(f) > 1 || more > n/20) {
			t.Errorf("%s: %d parts, %d others are taken for known", name, len(f), more)
		}
	}
}

// TestOwnerAfterFirstStart: of a first start the claims are stored in parts, and all are known.
func TestOwnerAfterFirstStart(t *testing.T) {
	t.Parallel()
	d := fleet.Delta{Messages: make([]fleet.Claim, bulk+1)}
	for i := range d.Messages {
		d.Messages[i] = fleet.Claim{Key: transcript.Key(i+1) << 40, Owner: 9}
	}
	s := mustOpen(t, t.TempDir())
	mustSave(t, s, d)
	for _, c := range d.Messages {
		if owner, ok := s.Owner(c.Key); !ok || owner != c.Owner {
			t.Fatalf("message %x belongs to %d %v, want %d", c.Key, owner, ok, c.Owner)
		}
	}
}

// TestSurvey: each question after a start has some of the ledger surveyed, while claims are made before and behind it; all
// that is claimed is known at every time.
func TestSurvey(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	claims := randomClaims(r, 6000, 50)
	s := mustOpen(t, dir)
	mustSave(t, s, fleet.Delta{Settled: true, Messages: claims})
	for start := range 2 {
		s.Close()
		s = mustOpen(t, dir)
		for asked := 0; s.claimed.surveyed < math.MaxUint64; asked++ {
			if asked > len(claims) {
				t.Fatalf("start %d: after %d questions the survey has come to %x", start, asked, s.claimed.surveyed)
			}
			more := randomClaims(r, 30, 50)
			mustSave(t, s, fleet.Delta{Messages: more})
			claims = append(claims, more...)
			for range 20 {
				c := claims[r.IntN(len(claims))]
				if owner, ok := s.Owner(c.Key); !ok || owner != c.Owner {
					t.Fatalf("start %d: message %x belongs to %d %v, want %d; surveyed up to %x", start, c.Key, owner, ok, c.Owner, s.claimed.surveyed)
				}
			}
		}
		for _, c := range claims {
			if owner, ok := s.Owner(c.Key); !ok || owner != c.Owner {
				t.Fatalf("start %d, surveyed: message %x belongs to %d %v, want %d", start, c.Key, owner, ok, c.Owner)
			}
		}
		if owner, ok := s.Owner(5); ok {
			t.Errorf("message 5 belongs to %d, want nobody", owner)
		}
	}
}
