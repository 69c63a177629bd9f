package state

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestReleased: what each released version stored is read whole, and saved anew it is the same. The file of a release is
// made by its own observer, over transcripts with hooks, messages and a reminder, and never changes afterwards.
func TestReleased(t *testing.T) {
	files, err := filepath.Glob("testdata/released/*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no released states: %v", err)
	}
	for _, file := range files {
		version := strings.TrimSuffix(filepath.Base(file), ".db.gz")
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, file, filepath.Join(dir, FileName))
			var log bytes.Buffer
			s, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)), testNow())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Dropped() != 0 || log.Len() > 0 {
				t.Errorf("%d records dropped; log: %s", s.Dropped(), &log)
			}
			got := summary(t, s)
			golden := filepath.Join("testdata/released", version+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// summary tells what a state holds, in words that outlive fields added later.
func summary(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	stored := mustLoad(t, s)
	fmt.Fprintf(&b, "created %s settled %v\n", stored.Created.UTC().Format("2006-01-02"), stored.Settled)
	for _, f := range stored.Files {
		fmt.Fprintf(&b, "file %s read to %d\n", f.Cursor.Path, f.Cursor.Offset)
	}
	for _, r := range stored.Records {
		fmt.Fprintf(&b, "session %s of %s\n", r.SessionID, r.Agent)
	}
	fmt.Fprintf(&b, "%d claims, %d bytes read\n", len(stored.Claims), stored.Counters.Bytes)
	values, err := s.Values("")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		fmt.Fprintf(&b, "value %q, %d bytes\n", v.Name, len(v.Data))
	}
	return b.String()
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
