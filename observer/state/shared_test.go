package state

import (
	gocmp "cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/observer/fleet"
	"sm/transcript"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func testNow() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 123, time.UTC) }

func sampleID(i int) string {
	return fmt.Sprintf(
		"%08d-1111-4222-8333-%012d",
		i*7919%100_000_000,
		i,
	)
}

// sampleFile returns a file like that of a real session.
func sampleFile(i int) fleet.File {
	id := sampleID(i)
	cwd := fmt.Sprintf("/home/dev/projects/project-%d", i%50)
	return fleet.File{
		Cursor: transcript.Cursor{
			Path: fmt.Sprintf(
				"/home/dev/.claude/projects/-home-dev-projects-project-%d/%s.jsonl",
				i%50,
				id,
			),
			Dev:      2049,
			Ino:      uint64(1_000_000 + i),
			Offset:   int64(1_234_567 + i),
			Size:     int64(1_234_600 + i),
			Modified: 1_785_000_000_123_456_789 + int64(i),
			Head:     transcript.KeyOf([]byte(id)),
			Tail:     transcript.Join(transcript.Key(i)),
		},
		Name: id,
		Session: transcript.Session{
			Reading: transcript.Reading{
				At:     transcript.Instant(1_785_000_000_123_000_000),
				Tokens: 123_456,
			},
			Peak:  154_000,
			Turns: 40,
			Sums: transcript.Sums{
				Compactions: transcript.TriggerCounts{i % 3, 1, 0},
				Messages:    812,
				Tokens: transcript.Usage{
					Input:         5_123,
					CacheCreation: 1_234_567,
					CacheRead:     98_765_432,
					Output:        234_567,
				},
			},
			Model:   "claude-opus-4-8",
			Version: "2.1.197",
			CWD:     cwd,
			ID:      id,
			Started: 1_784_000_000_123_000_000,
			Active:  1_785_000_000_123_000_000,
			Bytes:   1_234_567,
			Lines:   2_345,
			Bad:     int64(i % 2),
		},
	}
}

func sampleRecord(i int) fleet.SessionRecord {
	id := sampleID(i)
	return fleet.SessionRecord{
		SessionID: id,
		Agent:     id,
		Label:     id[:8],
		Counted:   transcript.TriggerCounts{1, 0, i},
	}
}

// sameStored compares without regard to order.
func sameStored(want, got fleet.Stored) string {
	want, got = sorted(want), sorted(got)
	if reflect.DeepEqual(want, got) { // a hundred times as fast
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func sorted(s fleet.Stored) fleet.Stored {
	s.Files = slices.SortedFunc(
		slices.Values(s.Files),
		func(a, b fleet.File) int { return strings.Compare(a.Cursor.Path, b.Cursor.Path) },
	)
	s.Records = slices.SortedFunc(
		slices.Values(s.Records),
		func(a, b fleet.SessionRecord) int {
			return strings.Compare(
				a.SessionID,
				b.SessionID,
			)
		},
	)
	s.Claims = slices.SortedFunc(
		slices.Values(s.Claims),
		func(a, b fleet.Claim) int { return gocmp.Compare(a.Key, b.Key) },
	)
	return s
}

func mustOpen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, quiet(), testNow())
	noErrors(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func mustLoad(t *testing.T, s *Store) fleet.Stored {
	t.Helper()
	stored, err := s.Load()
	noErrors(t, err)
	return stored
}

func mustSave(t *testing.T, s *Store, d fleet.Delta, values ...Value) {
	t.Helper()
	noErrors(t, s.Save(d, values...))
}

// updateLocked commits a transaction as Save does.
func updateLocked(s *Store, f func(*writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.update(f)
}

func learn(model map[transcript.Key]transcript.Key, claims []fleet.Claim) {
	for _, c := range claims {
		model[c.Key] = c.Owner
	}
}

// testOwners looks up existing keys, and neighbours that do not exist.
func testOwners(t *testing.T, s *Store, model map[transcript.Key]transcript.Key) {
	t.Helper()
	for k, want := range model {
		if owner, ok := s.Owner(k); !ok || owner != want {
			t.Fatalf("%016x belongs to %x, %v; want %x", k, owner, ok, want)
		}
		for _, near := range []transcript.Key{
			k - 1,
			k + 1,
			k ^ 1<<63,
			k ^ 1<<31,
			k & 0xffffffff,
		} {
			if _, known := model[near]; known {
				continue
			}
			if owner, ok := s.Owner(near); ok {
				t.Fatalf("%016x, next to %016x: got owner %x, want none", near, k, owner)
			}
		}
	}
}

// noErrors fails the test if there are errors.
func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
