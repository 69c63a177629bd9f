package state

import (
	"bytes"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/transcript"
)

// harm is a state that was harmed at one place, and what it held before.
type harm struct {
	dir      string
	image    []byte
	content  fleet.Stored
	messages map[transcript.Key]transcript.Key
}

// test opens the file with the harm in it. Whatever was harmed, what is loaded was
// stored, nothing is missing without being counted, and the store goes on.
func (h *harm) test(t *testing.T, what string, at int, image []byte) {
	t.Helper()
	plant(t, h.dir, image)
	s := mustOpen(t, h.dir)
	defer s.Close()
	got := mustLoad(t, s)
	aside := setAsideFiles(t, h.dir)
	if len(aside) > 0 {
		if d := sameStored(fleet.Stored{Created: testNow()}, got); d != "" {
			t.Fatalf("%s at %d: set aside, and yet (-want +got):\n%s", what, at, d)
		}
	} else {
		h.testContent(t, what, at, s, got)
	}
	file := sampleFile(1000 + at)
	mustSave(t, s, fleet.Delta{
		Settled:  true,
		Files:    []fleet.File{file},
		Messages: []fleet.Claim{{Key: transcript.Key(at + 1), Owner: 1}},
	})
	if after := mustLoad(t, s); len(after.Files) != len(got.Files)+1 {
		t.Fatalf("%s at %d: %d files after saving one more to %d", what, at, len(after.Files), len(got.Files))
	}
}

func (h *harm) testContent(t *testing.T, what string, at int, s *Store, got fleet.Stored) {
	t.Helper()
	missing := 0
	for k, want := range h.messages {
		owner, ok := s.Owner(k)
		if ok && owner != want {
			t.Fatalf("%s at %d: message %x belongs to %x, want %x", what, at, k, owner, want)
		}
		if !ok {
			missing++
		}
	}
	lost := func(name string, want, got int) {
		if got < want {
			missing += want - got
		}
	}
	lost("files", len(h.content.Files), len(got.Files))
	lost("records", len(h.content.Records), len(got.Records))
	lost("claims", len(h.content.Claims), len(got.Claims))
	if missing > 0 && s.Dropped() == 0 {
		t.Fatalf("%s at %d: %d records are missing and none was dropped", what, at, missing)
	}
	if s.Dropped() > 1 {
		t.Fatalf("%s at %d: %d records dropped for one byte", what, at, s.Dropped())
	}
	if s.Dropped() == 0 {
		if d := sameStored(h.content, got); d != "" {
			t.Fatalf("%s at %d (-want +got):\n%s", what, at, d)
		}
		return
	}
	testSubset(t, what, at, h.content.Files, got.Files, func(f fleet.File) string { return f.Cursor.Path })
	testSubset(t, what, at, h.content.Records, got.Records, func(s fleet.SessionRecord) string { return s.SessionID })
	testSubset(t, what, at, h.content.Claims, got.Claims, func(c fleet.Claim) transcript.Key { return c.Key })
}

func testSubset[T any, K comparable](t *testing.T, what string, at int, want, got []T, key func(T) K) {
	t.Helper()
	known := map[K]T{}
	for _, v := range want {
		known[key(v)] = v
	}
	for _, v := range got {
		if d := cmp.Diff(known[key(v)], v); d != "" {
			t.Fatalf("%s at %d (-want +got):\n%s", what, at, d)
		}
	}
}

func newHarm(t *testing.T) *harm {
	t.Helper()
	h := &harm{dir: filepath.Join(t.TempDir(), "sm")}
	h.image, h.content, h.messages = sampleState(t)
	return h
}

// places are every step-th byte of the file, from a random one on.
func (h *harm) places(t *testing.T, step int) iter.Seq[int] {
	t.Helper()
	start := rand.IntN(step)
	t.Logf("%d bytes, every %d from %d on", len(h.image), step, start)
	return func(yield func(int) bool) {
		for at := start; at < len(h.image) && yield(at); at += step {
		}
	}
}

// steps are small in a soak, which has the time for every byte.
func steps(t *testing.T, usual int) int {
	switch {
	case os.Getenv("SM_SOAK") != "":
		return 1
	case testing.Short():
		return usual * 10
	}
	return usual
}

func TestSoakFlips(t *testing.T) {
	h := newHarm(t)
	for at := range h.places(t, steps(t, 307)) {
		b := bytes.Clone(h.image)
		b[at] ^= 1 << (at % 8)
		h.test(t, "flip", at, b)
	}
}

func TestSoakCuts(t *testing.T) {
	h := newHarm(t)
	for at := range h.places(t, steps(t, 1511)) {
		h.test(t, "cut", at, h.image[:at])
		b := bytes.Clone(h.image)
		clear(b[at:])
		h.test(t, "zeroes", at, b)
	}
}
