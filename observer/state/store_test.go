package state

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

func TestLife(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	want := fleet.Stored{Created: testNow()}
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Fatalf("at first (-want +got):\n%s", d)
	}

	a := sampleFile(1)
	b := sampleFile(2)
	c := sampleFile(3)
	mustSave(t, s, fleet.Delta{
		Settled:  true,
		Files:    []fleet.File{a, b},
		Records:  []fleet.SessionRecord{sampleRecord(1)},
		Claims:   []fleet.Claim{{Key: 7, Owner: 70}},
		Counters: &tally.Counters{Bytes: 1},
	})
	grown := a
	grown.Cursor.Offset++
	// A path that goes and comes again in one delta is there: gone comes first.
	mustSave(t, s, fleet.Delta{
		Files:    []fleet.File{c, a, grown},
		Gone:     []string{b.Cursor.Path, a.Cursor.Path, "/never/seen"},
		Claims:   []fleet.Claim{{Key: 8, Owner: 80}, {Key: 7, Owner: 71}},
		Counters: &tally.Counters{Bytes: 2},
	})
	want = fleet.Stored{
		Created:  testNow(),
		Settled:  true,
		Files:    []fleet.File{grown, c},
		Records:  []fleet.SessionRecord{sampleRecord(1)},
		Claims:   []fleet.Claim{{Key: 7, Owner: 71}, {Key: 8, Owner: 80}},
		Counters: tally.Counters{Bytes: 2},
	}
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("in the same run (-want +got):\n%s", d)
	}
	if err := errors.Join(s.CheckLock(), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}

	// Another run, later: when the state was made stays.
	s, err := Open(dir, quiet(), testNow().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("in the next run (-want +got):\n%s", d)
	}
	if n := s.Dropped(); n != 0 {
		t.Errorf("%d records dropped", n)
	}
}

func TestUnsettledIsForgotten(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	messages := []fleet.Claim{{Key: 5, Owner: 50}}
	mustSave(t, s, fleet.Delta{
		Files:    []fleet.File{sampleFile(1)},
		Messages: messages,
		Counters: &tally.Counters{Bytes: 1},
	},
		Value{"queue/1", []byte("kept")})
	s.Close()

	s = mustOpen(t, dir)
	if d := sameStored(fleet.Stored{Created: testNow()}, mustLoad(t, s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if owner, ok := s.Owner(5); ok {
		t.Errorf("message 5 belongs to %d, want nobody", owner)
	}
	testValues(t, s, "", Value{"queue/1", []byte("kept")})

	// Settling is for good, whatever later deltas say.
	mustSave(t, s, fleet.Delta{Settled: true, Messages: messages})
	mustSave(t, s, fleet.Delta{Files: []fleet.File{sampleFile(1)}})
	s.Close()
	s = mustOpen(t, dir)
	if d := sameStored(fleet.Stored{
		Created: testNow(),
		Settled: true,
		Files:   []fleet.File{sampleFile(1)},
	}, mustLoad(t, s)); d != "" {
		t.Errorf("settled (-want +got):\n%s", d)
	}
	if owner, ok := s.Owner(5); !ok || owner != 50 {
		t.Errorf("message 5 belongs to %d, %v; want 50", owner, ok)
	}
}

func valuesOf(s *Store, prefix string) (all []Value, err error) {
	err = s.Values(prefix, func(v Value) error {
		all = append(all, Value{v.Name, bytes.Clone(v.Data)})
		return nil
	})
	return all, err
}

func testValues(t *testing.T, s *Store, prefix string, want ...Value) {
	t.Helper()
	got, err := valuesOf(s, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("values %q (-want +got):\n%s", prefix, d)
	}
}

func TestValues(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	one := Value{"queue/1", []byte("one")}
	two := Value{"queue/2", []byte{0}}
	empty := Value{"queuf", []byte{}}
	mustSave(t, s, fleet.Delta{Settled: true}, two, one, empty, Value{"a", make([]byte, 100_000)})
	testValues(t, s, "queue/", one, two)
	testValues(t, s, "queue/2", two)
	mustSave(t, s, fleet.Delta{}, Value{Name: "queue/1"}, Value{Name: "none"}, Value{Name: "a"})
	testValues(t, s, "", two, empty)
	s.Close()
	testValues(t, mustOpen(t, dir), "", two, empty)
}

func TestNothingToSave(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	mustSave(t, s, fleet.Delta{Settled: true})
	before := s.acked
	mustSave(t, s, fleet.Delta{Settled: true})
	mustSave(t, s, fleet.Delta{})
	if s.acked != before {
		t.Errorf("%d transactions for nothing", s.acked-before)
	}
}

// What cannot be stored is refused as a whole, and the store goes on.
func TestRefusedValue(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	mustSave(t, s, fleet.Delta{Settled: true, Files: []fleet.File{sampleFile(1)}})
	if err := s.Save(fleet.Delta{Files: []fleet.File{sampleFile(2)}}, Value{"", []byte("no name")}); err == nil {
		t.Error("a value without a name was stored")
	}
	want := fleet.Stored{Created: testNow(), Settled: true, Files: []fleet.File{sampleFile(1)}}
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	mustSave(t, s, fleet.Delta{Files: []fleet.File{sampleFile(2)}})
	want.Files = append(want.Files, sampleFile(2))
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	s.Close()
	_, loadErr := s.Load()
	_, valuesErr := valuesOf(s, "")
	for name, err := range map[string]error{
		"Save": s.Save(fleet.Delta{Settled: true}), "Load": loadErr, "Values": valuesErr, "CheckLock": s.CheckLock(),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, ErrClosed)
		}
	}
	if _, ok := s.Owner(1); ok {
		t.Error("Owner knows something")
	}
}

// Nothing is known of who calls, so each method waits for the others.
func TestConcurrent(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				n := w*100 + i
				d := fleet.Delta{
					Settled:  true,
					Files:    []fleet.File{sampleFile(n)},
					Messages: []fleet.Claim{{Key: transcript.Key(n + 1), Owner: 9}},
				}
				if err := s.Save(d, Value{fmt.Sprint(n), []byte("x")}); err != nil {
					t.Error(err)
				}
				if _, ok := s.Owner(transcript.Key(n + 1)); !ok {
					t.Errorf("claim %d is missing", n)
				}
				if _, err := s.Load(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(mustLoad(t, s).Files); got != 80 {
		t.Errorf("%d files, want 80", got)
	}
}
