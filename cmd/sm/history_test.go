package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/history/tune"
	"sm/transcript"
	"sm/transcript/transcripttest"
)

// gridOf returns the grid of a folder.
func gridOf(t *testing.T, args ...string) (g tune.Grid) {
	t.Helper()
	if err := json.Unmarshal(
		output(t, append([]string{"replay", "--grid", "--json"}, args...)...),
		&g,
	); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestForkWhoseOriginWentOn tests that a fork's first cycle has the turns and readings that
// it copied, whether it names its origin or not, that the origin, which continued, has them
// too, and that totals count them once.
func TestForkWhoseOriginWentOn(t *testing.T) {
	for name, named := range map[string]bool{"fork": true, "resume": false} {
		t.Run(name, func(t *testing.T) {
			a := transcripttest.NewHandWritten(1)
			for n := 20; n < 150; n += 16 {
				a.Turn()
				a.Read(n, n+2, n+4, n+6)
			}
			b := a.Copied(2, named)
			b.Turn()
			b.Read(152)
			b.Compact("auto", 156)
			b.Read(40)
			a.Now = a.Now.Add(time.Hour)
			a.Turn()
			a.Read(139)
			dir := transcripttest.Written(t, t.TempDir(), a, b)
			r := reported(t, dir)
			if r.Turns != 11 || *r.TurnsPerCycle.Median != 10 || r.TurnsPerCycle.Known != 1 {
				t.Errorf(
					"%d turns, %+v in the cycle; want 11, and 10 in it",
					r.Turns,
					r.TurnsPerCycle,
				)
			}
			g := gridOf(t, dir)
			want := tune.Grid{Sessions: 2, Cycles: 3, Compactions: api.Compactions{Auto: 1}}
			got := tune.Grid{
				Sessions:    g.Sessions,
				Cycles:      g.Cycles,
				Compactions: g.Compactions,
				Unseen:      g.Unseen,
			}
			if d := cmp.Diff(
				want,
				got,
				cmp.AllowUnexported(tune.Grid{}, tune.Candidate{}),
			); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if f := g.Current; f.Coverage != 1 || f.Open != 2 || f.Vain != 1 {
				t.Errorf(
					"coverage %v, %d of %d in vain; want 1, 1 of 2",
					f.Coverage,
					f.Vain,
					f.Open,
				)
			}
		})
	}
}

// TestSnapshots tests that an older copy of a transcript adds nothing, whatever its folder is
// called.
func TestSnapshots(t *testing.T) {
	for _, names := range [][2]string{{"-one", "-two"}, {"-two", "-one"}} {
		dir := t.TempDir()
		for n := range 6 {
			s := transcripttest.NewHandWritten(n)
			s.Filled(50, 160, 20, 1)
			s.Turn()
			s.Read(40, 60)
			s.Folder = names[0]
			transcripttest.Written(t, dir, s)
			for size := 70; size < 150; size += 20 {
				s.Turn()
				s.Read(size)
			}
			s.Compact("auto", 155)
			s.Read(31)
			s.Folder = names[1]
			transcripttest.Written(t, dir, s)
		}
		r := reported(t, dir)
		g := gridOf(t, dir)
		if r.Sessions != 6 || g.Sessions != 6 || g.Cycles != 18 || g.Compactions.Auto != 12 ||
			r.Compactions.Auto != 12 ||
			g.Current.Open != 6 {
			t.Errorf(
				"%d sessions; grid: %d sessions, %d cycles, %d compactions, %d open",
				r.Sessions,
				g.Sessions,
				g.Cycles,
				g.Compactions.Auto,
				g.Current.Open,
			)
		}
	}
}

// TestContinuations tests that a compaction after which an early client began a new file
// counts separately, since it shows nothing of its cycle, and that the file before it did not
// end without a compaction.
func TestContinuations(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		a := transcripttest.NewHandWritten(n)
		a.Version = "1.0.100"
		for size := 20; size < 160; size += 6 {
			a.Turn()
			a.Read(size)
		}
		b := transcripttest.NewHandWritten(1000 + n)
		b.Version = a.Version
		b.Now = a.Now
		b.Say("What was done: " + a.ID)["isCompactSummary"] = true
		b.Turn()
		b.Read(30)
		transcripttest.Written(t, dir, a, b)
	}
	g := gridOf(t, dir)
	if g.Compactions.Unknown != 12 || g.Unseen != 12 || g.Advice != tune.AdviceTooFew ||
		g.Current.Compactions != 0 ||
		g.Current.Open != 12 ||
		g.Current.Vain != 0 {
		t.Errorf(
			"%+v, %d unseen, advice %q, %+v",
			g.Compactions,
			g.Unseen,
			g.Advice,
			g.Current,
		)
	}
	r := reported(t, dir)
	if r.Compactions.Unknown != 12 || r.TurnsPerCycle.Unknown != 12 {
		t.Errorf("report: %+v, turns %+v", r.Compactions, r.TurnsPerCycle)
	}
}

// TestEndedOtherwise tests that the last cycle of a session does not count as ended without a
// compaction if it ended by a /clear or a handoff, or may continue.
func TestEndedOtherwise(t *testing.T) {
	for _, c := range []struct {
		name  string
		opens string
		after time.Duration
		age   time.Duration
		open  int
	}{
		{"nothing", "go on", time.Minute, time.Hour, 2},
		{
			"a clear",
			"<command-name>/clear</command-name>\n            <command-message>clear</command-message>",
			30 * time.Minute,
			24 * time.Hour,
			1,
		},
		{"another command", "<command-name>/cost</command-name>", time.Minute, time.Hour, 2},
		{
			"a handoff",
			"Read /home/dev/notes.md and continue from where you left off.",
			time.Minute,
			time.Hour,
			1,
		},
		{
			"a clear much later",
			"<command-name>/clear</command-name>",
			3 * time.Hour,
			24 * time.Hour,
			2,
		},
		{"both still active", "go on", time.Minute, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := transcripttest.NewHandWritten(1)
			b := transcripttest.NewHandWritten(2)
			a.Now = time.Now().Add(-c.age).Add(-c.after).UTC()
			a.Turn()
			a.Read(20, 120)
			b.Now = a.Now.Add(c.after)
			b.Say(c.opens)
			b.Turn()
			b.Read(20)
			if g := gridOf(
				t,
				transcripttest.Written(t, t.TempDir(), a, b),
			); g.Current.Open != c.open ||
				g.Current.Vain != max(0, c.open-1) {
				t.Errorf(
					"%d open, %d of them in vain; want %d open",
					g.Current.Open,
					g.Current.Vain,
					c.open,
				)
			}
		})
	}
}

// TestForkAlone tests that report, grid and replay count the same compactions in a fork
// without its origin.
func TestForkAlone(t *testing.T) {
	s := transcripttest.NewSession(3, "2.1.197")
	for range 3 {
		s.Prompt()
		s.Reply()
	}
	s.Compact(transcript.Manual)
	s.Prompt()
	s.Reply()
	n := s.Copy(transcripttest.Forked)
	n.Compact(transcript.Auto)
	n.Reply()
	paths := []string{filepath.Join(t.TempDir(), n.ID()+".jsonl")}
	writeFile(t, paths[0], n.Bytes())
	paths = append(paths, "../../transcript/claude/testdata/shapes/s18_real_fork_order.jsonl")
	for _, path := range paths {
		r := reported(t, path)
		g := gridOf(t, path)
		replay := api.Compactions{}
		for _, x := range replayed(t, path) {
			if x.Event == "compaction" {
				*replay.By(x.Trigger)++
			}
		}
		if d := cmp.Diff(
			[]api.Compactions{r.Compactions, r.Compactions},
			[]api.Compactions{g.Compactions, replay},
		); d != "" || r.Compactions.Manual != 1 ||
			g.Unseen != 1 {
			t.Errorf(
				"%d manual, %d unseen (-report +grid, replay):\n%s",
				r.Compactions.Manual,
				g.Unseen,
				d,
			)
		}
	}
}

// TestStrangeFiles tests that a file without a record is no session, and that the number of
// such files is printed.
func TestStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	s := transcripttest.NewHandWritten(1)
	s.Turn()
	s.Read(20)
	transcripttest.Written(t, dir, s)
	writeFile(t, filepath.Join(dir, "empty.jsonl"), nil)
	writeFile(t, filepath.Join(dir, "binary.jsonl"), []byte("\x1f\x8b\x00\x01\n\xff\xfe"))
	r := reported(t, dir)
	g := gridOf(t, dir)
	if r.Sessions != 1 || r.Strange != 2 || g.Sessions != 1 || g.Strange != 2 {
		t.Errorf(
			"%d sessions and %d files, grid %d and %d",
			r.Sessions,
			r.Strange,
			g.Sessions,
			g.Strange,
		)
	}
	for _, args := range [][]string{
		{"report", dir},
		{"replay", "--grid", dir},
		{"report", filepath.Join(dir, "empty.jsonl")},
	} {
		if text := output(t, args...); !bytes.Contains(text, []byte("left out\n")) {
			t.Errorf("%v does not mention them:\n%s", args, text)
		}
	}
}
