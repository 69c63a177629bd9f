package state

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/tally"
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
	// A path that is removed and added again in one delta exists: removals come first.
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
	noErrors(t, s.Close(), s.Close())

	// In another run, later, the creation time of the state is the same.
	s, err := Open(dir, quiet(), testNow().Add(time.Hour))
	noErrors(t, err)
	defer s.Close()
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("in the next run (-want +got):\n%s", d)
	}
	if n := s.Dropped(); n != 0 {
		t.Errorf("%d records dropped", n)
	}
}

func valuesOf(s *Store) (all []Value, err error) {
	err = s.Values(func(v Value) error {
		all = append(all, Value{v.Name, bytes.Clone(v.Data)})
		return nil
	})
	return all, err
}

func testValues(t *testing.T, s *Store, want ...Value) {
	t.Helper()
	got, err := valuesOf(s)
	noErrors(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
}

func TestValues(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	one := Value{"queue/1", []byte("one")}
	two := Value{"queue/2", []byte{0}}
	empty := Value{"queuf", []byte{}}
	mustSave(t, s, fleet.Delta{
		Settled: true,
	}, two, one, empty, Value{"a", make([]byte, 100_000)})
	testValues(t, s, Value{"a", make([]byte, 100_000)}, one, two, empty)
	mustSave(t, s, fleet.Delta{}, Value{
		Name: "queue/1",
	}, Value{
		Name: "none",
	}, Value{
		Name: "a",
	})
	testValues(t, s, two, empty)
	s.Close()
	testValues(t, mustOpen(t, dir), two, empty)
}
