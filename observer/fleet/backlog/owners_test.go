package backlog

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sm/transcript"
)

// TestOwners: it answers as a map does, in a history and after it, whatever is forgotten between.
func TestOwners(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		random := func() transcript.Key { return transcript.Join(transcript.Key(rng.IntN(60))) }
		var o Owners
		model := map[transcript.Key]transcript.Key{}
		claims := []Claim(nil)
		claim := func(id transcript.Key) {
			owner, known := o.Of(id)
			if want, ok := model[id]; ok != known || owner != want {
				t.Fatalf("seed %d: %d, %t, want %d, %t", seed, owner, known, want, ok)
			}
			if !known {
				owner = 1 + transcript.Key(rng.IntN(9))
				model[id], claims = owner, append(claims, Claim{id, owner})
				o.Put(id, owner)
			}
		}
		forget := func() {
			n := len(claims)
			if rng.IntN(3) == 0 {
				n = rng.IntN(n + 1)
			}
			o.Forget(claims[:n])
			for _, c := range claims[:n] {
				delete(model, c.Key)
			}
			claims = slices.Clone(claims[n:])
		}
		var history []*Backlog
		var ids []transcript.Key
		for range rng.IntN(8) {
			b := &Backlog{
				Messages: make([]Record, rng.IntN(10)),
				Later:    []Later{{Messages: make([]transcript.Message, rng.IntN(3))}},
			}
			for i := range b.Messages {
				b.Messages[i].id = random()
				ids = append(ids, b.Messages[i].id)
			}
			for i := range b.Later[0].Messages {
				b.Later[0].Messages[i].ID = random()
				ids = append(ids, b.Later[0].Messages[i].ID)
			}
			history = append(history, b)
		}
		o.Expect(history)
		for _, id := range ids {
			claim(id)
		}
		o.Settle(claims)
		for range rng.IntN(3) {
			if rng.IntN(2) == 0 {
				forget()
			}
			for range rng.IntN(40) {
				claim(random())
			}
		}
		if n := o.Len(); n != len(model) {
			t.Fatalf("seed %d: %d, want %d", seed, n, len(model))
		}
	}
}

// TestOwnersFreeWhatIsStored: what is forgotten unasked leaves no memory behind.
func TestOwnersFreeWhatIsStored(t *testing.T) {
	t.Parallel()
	claims := []Claim{{1, 2}, {3, 2}, {4, 2}}
	var o Owners
	o.Expect(nil)
	o.Settle(claims)
	o.Forget(claims[:2])
	if owner, ok := o.Of(4); !ok || owner != 2 {
		t.Errorf("not stored yet: %d, %t", owner, ok)
	}
	o.Settle(claims)
	if o.Forget(claims); o.unlisted != nil {
		t.Error("the memory of the claims is kept")
	}
}
