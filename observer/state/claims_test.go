package state

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/transcript"
)

// claimsOf is a model's content.
func claimsOf(model map[transcript.Key]transcript.Key) []fleet.Claim {
	var out []fleet.Claim
	for _, k := range slices.Sorted(maps.Keys(model)) {
		out = append(out, fleet.Claim{Key: k, Owner: model[k]})
	}
	return out
}

func learn(model map[transcript.Key]transcript.Key, claims []fleet.Claim) {
	for _, c := range claims {
		model[c.Key] = c.Owner
	}
}

// testOwners looks up what is there, and the neighbours that are not.
func testOwners(t *testing.T, s *Store, model map[transcript.Key]transcript.Key) {
	t.Helper()
	for k, want := range model {
		if owner, ok := s.Owner(k); !ok || owner != want {
			t.Fatalf("%016x belongs to %x, %v; want %x", k, owner, ok, want)
		}
		for _, near := range []transcript.Key{k - 1, k + 1, k ^ 1<<63, k ^ 1<<31, k & 0xffffffff} {
			if _, known := model[near]; known {
				continue
			}
			if owner, ok := s.Owner(near); ok {
				t.Fatalf("%016x, next to %016x, belongs to %x; want nobody", near, k, owner)
			}
		}
	}
}

// Saves of all sizes in many orders hold what a map would.
func TestClaims(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	edges := []transcript.Key{1, 2, math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1}
	key := func() transcript.Key {
		switch r.IntN(10) {
		case 0:
			return edges[r.IntN(len(edges))]
		case 1, 2: // close together
			return transcript.Key(0x7777_0000_0000_0000 + r.Uint64N(3000))
		}
		return transcript.Key(r.Uint64() | 1)
	}
	dir := t.TempDir()
	s := mustOpen(t, dir)
	model := map[transcript.Key]transcript.Key{}
	for round := range 60 {
		claims := make([]fleet.Claim, r.IntN(1+round*round))
		for i := range claims {
			claims[i] = fleet.Claim{Key: key(), Owner: transcript.Key(1 + r.IntN(300))}
		}
		// Of two claims of one key the later holds, within a delta too.
		learn(model, claims)
		mustSave(t, s, fleet.Delta{Settled: true, Messages: claims, Claims: claims})
		if round%20 == 7 {
			s.Close()
			s = mustOpen(t, dir)
		}
	}
	testOwners(t, s, model)
	if d := cmp.Diff(claimsOf(model), mustLoad(t, s).Claims); d != "" {
		t.Errorf("compactions (-want +got):\n%s", d)
	}
}

func TestClaimsWithoutKey(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	claims := []fleet.Claim{{Key: 0, Owner: 3}, {Key: 3, Owner: 0}, {Key: 4, Owner: 40}}
	mustSave(t, s, fleet.Delta{Settled: true, Claims: claims, Messages: claims})
	testOwners(t, s, map[transcript.Key]transcript.Key{4: 40})
	if d := cmp.Diff(claims[2:], mustLoad(t, s).Claims); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
