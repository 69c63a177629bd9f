package replay

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients/clientstest"
	"sm/transcript/transcripttest"
)

// liveFleet reads transcripts while they grow.
type liveFleet struct {
	fleet  *fleet.Fleet
	engine *alerts.Engine
	said   []string
}

func (l *liveFleet) take(c transcript.Change) {
	for _, ev := range l.fleet.Apply(c).Events {
		for _, action := range l.engine.Step(ev) {
			if sent, ok := action.(alerts.Deliver); ok {
				l.said = append(l.said, notice(
					sent.Key.Agent,
					sent.Key.Cycle,
					sent.Key.Kind.String(),
					sent.To.Role.String(),
					sent.At,
				))
			}
		}
	}
}

func notice(session string, cycle int, kind, to string, at time.Time) string {
	return fmt.Sprint(session, " ", cycle, " ", kind, " to ", to, " at ", at)
}

// grow reads a transcript; a change ends with each line for which ends is true. After each
// change the observer's clock, which is months ahead of the records, reports a running
// client.
func (l *liveFleet) grow(t *testing.T, path string, ends func(line int) bool) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	fold := claude.NewFold(name, false)
	c := transcript.Change{
		Name:   name,
		Client: "claude",
		Cursor: transcript.Cursor{Path: path},
	}
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	send := func() {
		c.News = fold.Take()
		c.Session, c.Title = *fold.Sum(), fold.Facts().Title
		l.take(c)
		c.Entries = nil
		c.Whole = false
		active := l.engine.AtWork()
		for _, id := range l.engine.IDs() {
			now = now.Add(time.Second)
			l.engine.Step(alerts.Event{
				Kind:  alerts.EventActive,
				Agent: id,
				At:    now,
				On:    !slices.Contains(active, id),
			})
		}
	}
	c.Whole = true
	send()
	n := 0
	for line := range bytes.Lines(content) {
		var e transcript.Entry
		if fresh, _ := fold.Line(bytes.TrimSuffix(line, []byte("\n")), len(line), &e); fresh {
			e.Calls = nil
			e.Model = bytes.Clone(e.Model)
			e.Version = []byte(fold.Sum().Version)
			c.Entries = append(c.Entries, e)
		}
		c.Cursor.Offset += int64(len(line))
		if n++; ends(n) {
			send()
		}
	}
	send()
}

// compareSplits compares the notices of a replay with those of growing files, for different
// ends of changes.
func compareSplits(t *testing.T, dir string, splits map[string]func(line int) bool) {
	t.Helper()
	changes := recordsIn(t, dir)
	o := options()
	o.Policy = alerts.Defaults()
	events, err := Run(t.Context(), slices.Clone(changes), o)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range events {
		if e.Event == "notice" {
			var at time.Time
			if e.At != nil {
				at = *e.At
			}
			want = append(want, notice(e.Session, e.Cycle, e.Kind, e.To, at))
		}
	}
	slices.Sort(want)
	for name, ends := range splits {
		l := &liveFleet{
			fleet: fleet.New(fleet.Options{
				Clients: clientstest.Table(),
			}, fleet.Stored{
				Created: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
				Settled: true,
			}),
		}
		if l.engine, err = alerts.New(o.Policy); err != nil {
			t.Fatal(err)
		}
		for i := range changes {
			l.grow(t, changes[i].Cursor.Path, ends)
		}
		slices.Sort(l.said)
		if d := cmp.Diff(want, l.said); d != "" {
			t.Errorf("%s (-replay +live):\n%s", name, d)
		}
	}
}

func every(lines int) func(int) bool {
	return func(line int) bool { return line%lines == 0 }
}

// TestSplitAnywhere tests that notices depend neither on the number of lines in a change nor
// on when the observer checks activity.
func TestSplitAnywhere(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		dir := t.TempDir()
		if _, err := transcripttest.Generate(dir, transcripttest.Options{
			Seed:     seed,
			Sessions: 12,
			Traps:    true,
			Copies:   true,
		}); err != nil {
			t.Fatal(err)
		}
		compareSplits(t, dir, map[string]func(int) bool{
			fmt.Sprint("seed ", seed, " at once"): every(math.MaxInt),
			fmt.Sprint("seed ", seed, " by line"): every(1),
			fmt.Sprint("seed ", seed, " by 2"):    every(2),
			fmt.Sprint("seed ", seed, " by 3"):    every(3),
			fmt.Sprint("seed ", seed, " by 5"):    every(5),
			fmt.Sprint("seed ", seed, " by 7"):    every(7),
		})
	}
}

// TestSplitAtEachLine tests that the figures learned at a compaction depend only on the
// records before it, not on others in the same change.
func TestSplitAtEachLine(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *transcripttest.HandWritten){
		"compacted before any reading": func(s *transcripttest.HandWritten) {
			s.Turn()
			s.Compact("auto", 16)
		},
		"the client is updated": func(s *transcripttest.HandWritten) {
			s.Version = "1.0.120"
			s.Turn()
			s.Read(15)
			s.Compact("auto", 16)
			s.Version = "2.1.97"
		},
		"a summary before its boundary": func(s *transcripttest.HandWritten) {
			s.Read(15)
			summary := s.Say("This session is being continued from a previous conversation.")
			summary["isCompactSummary"] = true
			summary["parentUuid"] = s.Compact("auto", 16)["uuid"]
		},
	} {
		s := transcripttest.NewHandWritten(1)
		write(s)
		for range 3 {
			s.Turn()
			s.Read(14, 15)
			s.Compact("auto", 16)
			s.Turn()
		}
		s.Read(12, 14, 15)
		splits := map[string]func(int) bool{}
		for cut := range s.Records {
			splits[fmt.Sprint(
				name,
				", cut after ",
				cut,
			)] = func(line int) bool { return line == cut }
		}
		splits[name+", by line"] = every(1)
		compareSplits(t, transcripttest.Written(t, t.TempDir(), s), splits)
	}
}
