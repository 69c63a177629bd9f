package state

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

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
func TestLedgerIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	edges := []transcript.Key{1, 2, math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1}
	key := func() transcript.Key {
		switch r.IntN(10) {
		case 0:
			return edges[r.IntN(len(edges))]
		case 1, 2: // all in one chunk, until that splits
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

// A first start claims more than one transaction holds.
func TestLedgerBulk(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	claims := randomClaims(r, bulk+17, 700)
	claims = append(claims, fleet.Claim{Key: claims[0].Key, Owner: 5}) // again, in the same part
	model := map[transcript.Key]transcript.Key{}
	learn(model, claims[:1000])
	learn(model, claims[len(claims)-1000:])
	dir := t.TempDir()
	s := mustOpen(t, dir)
	before := s.acked
	mustSave(t, s, fleet.Delta{Settled: true, Messages: claims})
	if got := s.acked - before; got != 3 {
		t.Errorf("%d transactions, want 2 for the claims and 1 for the rest", got)
	}
	s.Close()
	s = mustOpen(t, dir)
	testOwners(t, s, model)

	// Once settled, a delta is one transaction, however large.
	more := randomClaims(r, bulk+1, 700)
	before = s.acked
	mustSave(t, s, fleet.Delta{Messages: more})
	if got := s.acked - before; got != 1 {
		t.Errorf("%d transactions, want 1", got)
	}
	learn(model, more[:1000])
	testOwners(t, s, model)
}

func TestLedgerIgnoresNobody(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	claims := []fleet.Claim{{Key: 0, Owner: 3}, {Key: 3, Owner: 0}, {Key: 4, Owner: 40}}
	mustSave(t, s, fleet.Delta{Settled: true, Claims: claims, Messages: claims})
	testOwners(t, s, map[transcript.Key]transcript.Key{4: 40})
	if d := cmp.Diff(claims[2:], mustLoad(t, s).Claims); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Where owners were lost, their claims belong to nobody, and never to somebody else.
func TestLostOwners(t *testing.T) {
	block := func(n byte) []byte { return []byte{0, 0, 0, n} }
	for name, harm := range map[string]func(b *bbolt.Bucket) error{
		"value":      func(b *bbolt.Bucket) error { return b.Put(block(1), []byte("damaged")) },
		"last value": func(b *bbolt.Bucket) error { return b.Put(block(3), []byte("damaged")) },
		"key":        func(b *bbolt.Bucket) error { return errors.Join(b.Put(block(5), b.Get(block(1))), b.Delete(block(1))) },
		"last key":   func(b *bbolt.Bucket) error { return errors.Join(b.Put(block(7), b.Get(block(3))), b.Delete(block(3))) },
		"swapped": func(b *bbolt.Bucket) error {
			one := bytes.Clone(b.Get(block(1)))
			return errors.Join(b.Put(block(1), b.Get(block(2))), b.Put(block(2), one))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := mustOpen(t, dir)
			model := map[transcript.Key]transcript.Key{}
			save := func(from, to int) {
				var claims []fleet.Claim
				for i := from; i < to; i++ {
					claims = append(claims, fleet.Claim{Key: transcript.Join(transcript.Key(i)), Owner: transcript.Key(1000 + i)})
				}
				learn(model, claims)
				mustSave(t, s, fleet.Delta{Settled: true, Messages: claims})
			}
			save(1, 4*ownersBlock-10)
			if err := updateLocked(s, func(tx *bbolt.Tx) error { return harm(tx.Bucket([]byte(ownersBucket))) }, func() {}); err != nil {
				t.Fatal(err)
			}
			for i := range 6 { // each time with owners that are new
				s.Close()
				s = mustOpen(t, dir)
				save(1000+i*100, 1000+i*100+ownersBlock/2)
			}
			lost := 0
			for k, want := range model {
				owner, ok := s.Owner(k)
				if ok && owner != want {
					t.Errorf("%x belongs to %d, want %d or nobody", k, owner, want)
				}
				if !ok {
					lost++
				}
			}
			if lost == 0 || lost > 2*ownersBlock {
				t.Errorf("%d claims are lost", lost)
			}
		})
	}
}

// The keys of chunks must not become holes: each key belongs to the chunk before it,
// and the first chunk's key is 0.
func TestLedgerDescending(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	model := map[transcript.Key]transcript.Key{}
	for top := transcript.Key(5000); top > 0; top -= 500 {
		var claims []fleet.Claim
		for k := top; k > top-500; k-- {
			claims = append(claims, fleet.Claim{Key: k * 1_000_003, Owner: k%7 + 1})
		}
		learn(model, claims)
		mustSave(t, s, fleet.Delta{Settled: true, Messages: claims})
	}
	testOwners(t, s, model)
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{2, 4})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		model := map[uint64]uint32{}
		build := func(keys []byte, owner uint32) []claim {
			var out []claim
			for i, k := range keys {
				out = append(out, claim{uint64(k), owner, uint32(i)})
				model[uint64(k)] = owner
			}
			return inOrder(out)
		}
		old, fresh := build(a, 1), build(b, 2)
		if len(fresh) == 0 {
			return
		}
		got := map[uint64]uint32{}
		merged := merge(old, fresh)
		for i, c := range merged {
			got[c.key] = c.owner
			if i > 0 && merged[i-1].key >= c.key {
				t.Errorf("%d after %d", c.key, merged[i-1].key)
			}
		}
		if d := cmp.Diff(model, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
