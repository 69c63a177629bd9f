package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients/clientstest"
	"sm/transcript/transcripttest"
)

// reads adds a reply of so many tokens that reads files, a line each, with their results.
func reads(s *transcripttest.HandWritten, tokens int, files ...string) {
	id := len(s.Records)
	for _, name := range files {
		call := fmt.Sprintf("toolu-%s-%d", s.ID, len(s.Records))
		s.Put(time.Second, `{"type":"assistant","message":{"id":"msg-%s-%d","model":"claude-opus-4-6",
			"usage":{"input_tokens":%d},"content":[
			{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":%q}}]}}`,
			s.ID, id, tokens, call, name)
		s.Put(time.Second, `{"type":"user","message":{"role":"user","content":[
			{"type":"tool_result","tool_use_id":%q,"content":"package web"}]}}`, call)
	}
}

// busy returns a session that reads files and is compacted, and one that continues it after a
// clear or a handoff, or none.
func busy(rng *rand.Rand, n int) []*transcripttest.HandWritten {
	s := transcripttest.NewHandWritten(n)
	work := func(s *transcripttest.HandWritten) {
		for size := 20_000; size < 150_000; size += 1000 + rng.IntN(8000) {
			var files []string
			for range 1 + rng.IntN(2) {
				files = append(files, fmt.Sprintf("/home/dev/web/%d.go", rng.IntN(30)))
			}
			if reads(s, size, files...); rng.IntN(8) == 0 {
				s.Say("find out why the reader of the files loses the last line")
			}
		}
	}
	s.Turn()
	for range 1 + rng.IntN(3) {
		work(s)
		s.Compact("auto", 150)
	}
	work(s)
	opening := []string{
		"",
		"<command-name>/clear</command-name>",
		"Read /home/dev/web/doc.md and continue from where you left off.",
	}[rng.IntN(3)]
	if opening == "" {
		return []*transcripttest.HandWritten{s}
	}
	next := transcripttest.NewHandWritten(n + 1)
	next.Now = s.Now
	next.Say(opening)
	work(next)
	return []*transcripttest.HandWritten{s, next}
}

// live returns the newest bill of each session by a fleet that follows the sessions, a few
// lines at a time.
func live(
	all []*transcripttest.HandWritten,
	dir string,
	few int,
	o fleet.Options,
) (*fleet.Fleet, map[string]transcript.Bill) {
	f := fleet.New(o, fleet.Stored{Settled: true})
	for _, s := range all {
		fold := claude.NewFold(s.ID, false)
		fold.KeepBills()
		c := transcript.Change{
			Name:   s.ID,
			Cursor: transcript.Cursor{Path: filepath.Join(dir, s.Folder, s.ID+".jsonl")},
		}
		n := 0
		flush := func() {
			c.Session = *fold.Sum()
			c.News = fold.Take()
			f.Apply(c)
			c.Entries = nil
			n = 0
		}
		var e transcript.Entry
		for line := range bytes.Lines(s.Bytes()) {
			if fresh, _ := fold.Line(bytes.TrimSpace(line), len(line), &e); fresh {
				kept := e
				kept.Calls, kept.Model = nil, bytes.Clone(e.Model)
				c.Entries = append(c.Entries, kept)
			}
			c.Cursor.Offset += int64(len(line))
			if n++; n == few {
				flush()
			}
		}
		flush()
	}
	bills := map[string]transcript.Bill{}
	for _, v := range f.Views(time.Now()) {
		if v.Bill != nil {
			bills[v.SessionID] = *v.Bill
		}
	}
	return f, bills
}

// TestBillsLiveAndPast tests that sessions that are followed have the same bills as those
// read afterwards, for any number of lines at a time.
func TestBillsLiveAndPast(t *testing.T) {
	kinds := map[transcript.Billed]int{}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		all := append(busy(rng, 1), busy(rng, 3)...)
		h := settled(t, transcripttest.Written(t, dir, all...))
		past := map[string]transcript.Bill{}
		sums := [3]tally.BillTotals{}
		for _, b := range h.Bills() {
			kinds[b.Kind]++
			sums[b.Kind].Reads += uint64(b.Reads)
			sums[b.Kind].Rereads += uint64(b.Rereads)
			sums[b.Kind].Tokens += uint64(b.Tokens)
			if known, ok := past[b.Agent]; !ok || known.At < b.At {
				past[b.Agent] = b.Bill
			}
		}
		f, followed := live(all, dir, 1+rng.IntN(9), fleet.Options{
			Clients: clientstest.Table(),
		})
		if d := cmp.Diff(past, followed); d != "" {
			t.Fatalf("seed %d (-past +live):\n%s", seed, d)
		}
		if d := cmp.Diff(sums, f.Counters().Bills); d != "" {
			t.Fatalf("seed %d: counters (-past +live):\n%s", seed, d)
		}
	}
	for kind, n := range map[transcript.Billed]int{
		transcript.BilledCompaction: 60,
		transcript.BilledHandoff:    5,
		transcript.BilledClear:      5,
	} {
		if kinds[kind] < n {
			t.Errorf("got %d of %s", kinds[kind], kind)
		}
	}
}

// TestBillsOfCopies tests that a boundary in several transcripts counts in the one that
// continues longest after it.
func TestBillsOfCopies(t *testing.T) {
	s := transcripttest.NewHandWritten(1)
	s.Turn()
	reads(s, 100_000, "/home/dev/web/a.go")
	s.Compact("auto", 150)
	reads(s, 20_000, "/home/dev/web/a.go")
	longer := s.Copied(2, true)
	for i := range 12 {
		reads(longer, 30_000+i, "/home/dev/web/a.go")
	}
	for _, all := range [][]*transcripttest.HandWritten{
		{s},
		{s, longer},
		{s, s.Copied(3, false), longer},
	} {
		list := settled(t, transcripttest.Written(t, t.TempDir(), all...)).Bills()
		if len(list) != 1 || list[0].Agent != s.ID {
			t.Fatalf("got %+v", list)
		}
		if got, want := list[0].Replies, map[bool]int{
			true:  1,
			false: 13,
		}[len(all) == 1]; got != want {
			t.Errorf("%d transcripts: %d replies, want %d", len(all), got, want)
		}
	}
}
