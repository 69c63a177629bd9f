package state

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/transcript"
)

// TestRelease tests that released pages are read again when they are needed.
func TestRelease(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	mustSave(t, s, manyRecords())
	before := mustLoad(t, s)
	held := residentFile(t)
	noErrors(t, s.Release())
	if now := residentFile(t); held > 0 && now >= held {
		t.Errorf("%d KB of files stay in memory, there were %d", now, held)
	}
	after := mustLoad(t, s)
	if d := cmp.Diff(
		before,
		after,
	); d != "" || len(after.Files) != manyFiles ||
		len(after.Records) != manyFiles {
		t.Errorf(
			"%d files and %d records; (-before +after):\n%s",
			len(after.Files),
			len(after.Records),
			d,
		)
	}
	noErrors(t, s.Close())
	if err := s.Release(); err == nil {
		t.Error("a closed state has pages")
	}
}

// TestFirstStart tests that a large first delta takes several transactions, which do not
// count while the last one is missing.
func TestFirstStart(t *testing.T) {
	dir := t.TempDir()
	d := manyRecords()
	d.Messages = randomClaims(rand.New(rand.NewPCG(4, 4)), 100_000, 50)
	killed := d
	killed.Settled = false
	s := mustOpen(t, dir)
	mustSave(t, s, killed, Value{"queue/1", []byte("kept")})
	s.Close()
	s = mustOpen(t, dir)
	if got := mustLoad(t, s); len(got.Files)+len(got.Records) > 0 || got.Settled {
		t.Errorf(
			"of an unfinished first start %d files and %d records are left",
			len(got.Files),
			len(got.Records),
		)
	}
	if _, ok := s.Owner(d.Messages[0].Key); ok {
		t.Error("a claim of an unfinished first start is left")
	}
	testValues(t, s, Value{"queue/1", []byte("kept")})

	before := s.acked
	mustSave(t, s, d)
	if got := s.acked - before; got < 4 {
		t.Errorf("%d transactions for a large first delta", got)
	}
	before = s.acked
	mustSave(t, s, d)
	if got := s.acked - before; got != 1 {
		t.Errorf("%d transactions once settled, want 1", got)
	}
	s.Close()
	s = mustOpen(t, dir)
	if got := mustLoad(
		t,
		s,
	); len(got.Files) != len(d.Files) || len(got.Records) != len(d.Records) ||
		!got.Settled {
		t.Errorf(
			"%d files and %d records, want %d of each",
			len(got.Files),
			len(got.Records),
			len(d.Files),
		)
	}
	for _, c := range d.Messages {
		if owner, ok := s.Owner(c.Key); !ok || owner != c.Owner {
			t.Fatalf("message %x belongs to %x %v, want %x", c.Key, owner, ok, c.Owner)
		}
	}
}

const manyFiles = 12_288

// manyRecords returns the records of a large first start.
func manyRecords() (d fleet.Delta) {
	for n := range manyFiles {
		d.Files = append(d.Files, fleet.File{
			Cursor: transcript.Cursor{Path: fmt.Sprintf("/p/%d.jsonl", n)},
			Name:   strconv.Itoa(n),
		})
		d.Records = append(d.Records, fleet.SessionRecord{
			SessionID: strconv.Itoa(n),
			Agent:     strconv.Itoa(n),
			Label:     strconv.Itoa(n),
		})
	}
	d.Settled = true
	return d
}

// residentFile returns how much of files this process has in memory, in KB; 0 if the system
// does not report it.
func residentFile(t *testing.T) int {
	t.Helper()
	text, _ := os.ReadFile("/proc/self/status") // not everywhere
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssFile:" {
			n, _ := strconv.Atoi(f[1]) // the kernel wrote it
			return n
		}
	}
	return 0
}
