package state

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sm/observer/fleet"
	"sm/transcript"
)

// schema1 returns a file written by the last version with schema 1: a state with every field
// set, and its content as JSON.
func schema1(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", "schema1", name))
	noErrors(tb, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	noErrors(tb, err)
	data, err := io.ReadAll(z)
	noErrors(tb, err)
	return data
}

// TestMigration tests that everything in a state of schema 1 is taken over.
func TestMigration(t *testing.T) {
	t.Parallel()
	var want struct {
		Stored   fleet.Stored
		Messages []fleet.Claim
	}
	noErrors(t, json.Unmarshal(schema1(t, "state.json.gz"), &want))
	messages := map[transcript.Key]transcript.Key{}
	learn(messages, want.Messages)

	opened := filepath.Join(t.TempDir(), "sm")
	plant(t, opened, schema1(t, "state.db.gz"))
	for range 2 { // converted, and read again
		s := mustOpen(t, opened)
		if d := sameStored(want.Stored, mustLoad(t, s)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		testOwners(t, s, messages)
		testValues(
			t,
			s,
			Value{"agent/a", []byte(`{"ID":"a"}`)},
			Value{"queue/1", []byte("x")},
		)
		if n := s.Dropped(); n > 0 || s.schema != schema {
			t.Errorf("%d records are dropped; schema %d", n, s.schema)
		}
		s.Close()
	}
}

// TestMigrationOfDamage tests that damage in a file of schema 1 loses single records, or the
// file is set aside.
func TestMigrationOfDamage(t *testing.T) {
	t.Parallel()
	image := schema1(t, "state.db.gz")
	image = image[:usedBytes(t, image)]
	dir := filepath.Join(t.TempDir(), "sm")
	for at := 5; at < len(image); at += 1511 {
		b := bytes.Clone(image)
		b[at] ^= 1 << (at % 8)
		plant(t, dir, b)
		s := mustOpen(t, dir)
		got := mustLoad(t, s)
		if lost := len(got.Files) + len(got.Records); lost < 6 && s.Dropped() == 0 &&
			len(setAsideFiles(t, dir)) == 0 {
			t.Fatalf(
				"flip at %d: records are lost without an error: %d files, %d sessions",
				at,
				len(got.Files),
				len(got.Records),
			)
		}
		mustSave(t, s, fleet.Delta{Settled: true, Files: []fleet.File{sampleFile(9)}})
		s.Close()
	}
}
