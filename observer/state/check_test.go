package state

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// TestCheckAgrees holds checkPages against bbolt's own check: it must accept all that
// bbolt writes, or a good file would be set aside.
func TestCheckAgrees(t *testing.T) {
	for _, size := range []int{30, 300, 2000, 9000} {
		for _, unsynced := range []bool{false, true} {
			t.Run(fmt.Sprint(size, unsynced), func(t *testing.T) {
				t.Parallel()
				testCheckAgrees(t, size, unsynced)
			})
		}
	}
}

func testCheckAgrees(t *testing.T, size int, unsynced bool) {
	r := rand.New(rand.NewPCG(uint64(size), 1))
	path := filepath.Join(t.TempDir(), FileName)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: unsynced, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for round := range 100 {
		// Grow for a while, shrink for a while.
		remove := 0.3 + 0.5*float64(round/25%2)
		if err := db.Update(func(tx *bbolt.Tx) error { return scribble(tx, r, size, remove) }); err != nil {
			t.Fatal(err)
		}
		if err := checkPages(f, nil); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		err := db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: bbolt: %v", round, err)
		}
	}
}

// scribble puts and deletes at random, in buckets and in buckets within them.
func scribble(tx *bbolt.Tx, r *rand.Rand, size int, remove float64) error {
	b, err := tx.CreateBucketIfNotExists(fmt.Append(nil, "bucket ", r.IntN(12)))
	if err != nil {
		return err
	}
	if r.IntN(4) == 0 {
		if b, err = b.CreateBucketIfNotExists([]byte("within")); err != nil {
			return err
		}
	}
	b.FillPercent = 0.5 + r.Float64()/2
	changes := r.IntN(200)
	if r.IntN(3) == 0 { // and some small enough to stand within an element
		changes = r.IntN(4)
	}
	if r.IntN(10) == 0 {
		return empty(b)
	}
	for range changes {
		key := fmt.Appendf(nil, "%0*d", 4+r.IntN(2)*30, r.IntN(2000))
		if r.Float64() < remove {
			err = b.Delete(key)
		} else {
			err = b.Put(key, make([]byte, r.IntN(size)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func empty(b *bbolt.Bucket) error {
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v != nil {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err := b.Delete(bytes.Clone(k)); err != nil {
			return err
		}
	}
	return nil
}
