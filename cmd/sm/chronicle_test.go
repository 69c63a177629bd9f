package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/api"
	"sm/transcript"
	"sm/transcript/transcripttest"
)

// TestForkWhoseOriginWentOn: whether it names its origin or not, a fork's first cycle has the turns and readings that it
// copied, and the origin, which went on, has them too; the totals have them once.
func TestForkWhoseOriginWentOn(t *testing.T) {
	for name, named := range map[string]bool{"fork": true, "resume": false} {
		t.Run(name, func(t *testing.T) {
			a := newScript(1)
			for n := 20; n < 150; n += 16 {
				a.turn()
				a.read(n, n+2, n+4, n+6)
			}
			b := a.copied(2, named)
			b.turn()
			b.read(152)
			b.compact("auto", 156)
			b.read(40)
			a.now = a.now.Add(time.Hour)
			a.turn()
			a.read(139)
			dir := written(t, t.TempDir(), a, b)
			r := reported(t, dir)
			if r.Turns != 11 || *r.TurnsPerCycle.Median != 10 || r.TurnsPerCycle.Known != 1 {
				t.Errorf("%d turns, %+v in the cycle; want 11, and 10 in it", r.Turns, r.TurnsPerCycle)
			}
			g := gridOf(t, dir)
			want := grid{Sessions: 2, Cycles: 3, Compactions: api.Compactions{Auto: 1}}
			got := grid{Sessions: g.Sessions, Cycles: g.Cycles, Compactions: g.Compactions, Unseen: g.Unseen}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(grid{}, candidate{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if f := g.Overall; f.Coverage != 1 || f.Open != 2 || f.Vain != 1 {
				t.Errorf("coverage %v, %d of %d in vain; want 1, 1 of 2", f.Coverage, f.Vain, f.Open)
			}
			for _, p := range settled(t, dir).chapters {
				if p.group != 0 || p.half != choosing {
					t.Errorf("%s is in group %d, half %d", p.change.Name, p.group, p.half)
				}
			}
		})
	}
}

// TestOrigins: of a resume that keeps all names, and of a fork of a fork, what was shared happened where it was first.
func TestOrigins(t *testing.T) {
	a := newScript(1)
	a.turn()
	a.read(20)
	b := a.copied(2, false)
	b.turn() // after a minute
	b.read(30)
	a.turn() // at once, and for longer
	a.read(40)
	a.now = a.now.Add(time.Hour)
	a.turn()
	h := settled(t, written(t, t.TempDir(), a, b))
	if h.chapters[0].change.Name != a.id {
		t.Error("the copy comes first")
	}

	b = a.copied(2, true)
	b.turn()
	b.read(50)
	c := b.copied(3, true)
	c.turn()
	c.read(60)
	b.now = b.now.Add(time.Hour)
	b.turn()
	b.read(70)
	var dirs []string
	for _, s := range []*handWritten{a, b, c} {
		for _, r := range s.records[len(s.records)-1:] {
			r["cwd"] = "/home/dev/" + s.id[7:8] // the last one names the project
			dirs = append(dirs, s.id[7:8])
		}
	}
	turns := map[string]int{}
	for _, row := range reported(t, written(t, t.TempDir(), a, b, c)).Projects {
		turns[row.Name] = row.Turns
	}
	if d := cmp.Diff(map[string]int{"1": 3, "2": 2, "3": 1}, turns); d != "" {
		t.Errorf("turns of %v (-want +got):\n%s", dirs, d)
	}
}

// TestInTheirOrder: a fork that has its new reply before what it copied, and a resume that has written its copies anew,
// are told in the order and at the times at which it all happened.
func TestInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		kind    transcripttest.CopyKind
		era     transcripttest.Era
		version string
	}{
		{transcripttest.Forked, transcripttest.Era197, "2.1.197"},
		{transcripttest.Restamped, transcripttest.Era113, "1.0.120"},
		{transcripttest.SDKForked, transcripttest.Era197, "2.1.197"},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			var origin, copied bytes.Buffer
			s := transcripttest.NewSession(&origin, 5, c.era, transcripttest.SessionOptions{Version: c.version})
			for range 3 {
				s.Prompt("")
				s.Reply(transcripttest.Reply{})
			}
			before := s.Now()
			n := s.Copy(&copied, c.kind)
			if n == nil {
				t.Fatal("not what this client does")
			}
			n.Prompt("")
			n.Reply(transcripttest.Reply{})
			dir := t.TempDir()
			place(t, filepath.Join(dir, s.ID()+".jsonl"), origin.Bytes())
			place(t, filepath.Join(dir, n.ID()+".jsonl"), copied.Bytes())
			h, old, seen := settled(t, dir), 0, 0
			err := h.tell(t.Context(), nil, func(s telling) {
				if s.change.Name != n.ID() {
					return
				}
				seen++
				for i := range s.events {
					if s.events[i].Kind == alerts.EventReading && !s.events[i].At.After(before) {
						old++
					}
					if i > 0 && s.events[i].At.Before(s.events[i-1].At) {
						t.Errorf("event %d is older than the one before", i)
					}
				}
			})
			if err != nil || seen != 1 || old != 3 {
				t.Errorf("%v; told %d times, %d readings of the origin; want 3", err, seen, old)
			}
		})
	}
}

// TestSnapshots: an older copy of a transcript adds nothing to it, whatever its folder is called.
func TestSnapshots(t *testing.T) {
	for _, names := range [][2]string{{"-one", "-two"}, {"-two", "-one"}} {
		dir := t.TempDir()
		for n := range 6 {
			s := newScript(n)
			s.filled(50, 160, 20, 1)
			s.turn()
			s.read(40, 60)
			s.folder = names[0]
			written(t, dir, s)
			for size := 70; size < 150; size += 20 {
				s.turn()
				s.read(size)
			}
			s.compact("auto", 155)
			s.read(31)
			s.folder = names[1]
			written(t, dir, s)
		}
		r, g := reported(t, dir), gridOf(t, dir)
		if r.Sessions != 6 || g.Sessions != 6 || g.Cycles != 18 || g.Compactions.Auto != 12 || r.Compactions.Auto != 12 || g.Overall.Open != 6 {
			t.Errorf("%d sessions; grid: %d sessions, %d cycles, %d compactions, %d open", r.Sessions, g.Sessions, g.Cycles, g.Compactions.Auto, g.Overall.Open)
		}
	}
}

// TestContinuations: a compaction after which an early client began a new file counts apart, for that shows nothing of
// its cycle; and the file before it did not end without one.
func TestContinuations(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		a := newScript(n)
		a.version = "1.0.100"
		for size := 20; size < 160; size += 6 {
			a.turn()
			a.read(size)
		}
		b := newScript(1000 + n)
		b.version, b.now = a.version, a.now
		b.summary()
		b.turn()
		b.read(30)
		written(t, dir, a, b)
	}
	g := gridOf(t, dir)
	if g.Compactions.Unknown != 12 || g.Unseen != 12 || g.Advice != adviceTooFew || g.Overall.Compactions != 0 || g.Overall.Open != 12 || g.Overall.Vain != 0 {
		t.Errorf("%+v, %d unseen, advice %q, %+v", g.Compactions, g.Unseen, g.Advice, g.Overall)
	}
	r := reported(t, dir)
	if r.Compactions.Unknown != 12 || r.TurnsPerCycle.Unknown != 12 {
		t.Errorf("report: %+v, turns %+v", r.Compactions, r.TurnsPerCycle)
	}
}

// TestEndedOtherwise: the last cycle of a session is not one that ended without a compaction where a /clear or a handoff
// ended it, or where it may still go on.
func TestEndedOtherwise(t *testing.T) {
	for _, c := range []struct {
		name  string
		opens string
		after time.Duration
		age   time.Duration
		open  int
	}{
		{"nothing", "go on", time.Minute, time.Hour, 2},
		{"a clear", "<command-name>/clear</command-name>\n            <command-message>clear</command-message>", 30 * time.Minute, 24 * time.Hour, 1},
		{"another command", "<command-name>/cost</command-name>", time.Minute, time.Hour, 2},
		{"a handoff", "Read /home/dev/notes.md and continue from where you left off.", time.Minute, time.Hour, 1},
		{"a clear much later", "<command-name>/clear</command-name>", 3 * time.Hour, 24 * time.Hour, 2},
		{"both still active", "go on", time.Minute, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newScript(1), newScript(2)
			a.now = time.Now().Add(-c.age).Add(-c.after).UTC()
			a.turn()
			a.read(20, 120)
			b.now = a.now.Add(c.after)
			b.say(c.opens)
			b.turn()
			b.read(20)
			if g := gridOf(t, written(t, t.TempDir(), a, b)); g.Overall.Open != c.open || g.Overall.Vain != max(0, c.open-1) {
				t.Errorf("%d open, %d of them in vain; want %d open", g.Overall.Open, g.Overall.Vain, c.open)
			}
		})
	}
}

// TestForkAlone: of a fork without its origin, which begins with what is newest, a report, a grid and a replay count the
// same compactions.
func TestForkAlone(t *testing.T) {
	var origin, fork bytes.Buffer
	s := transcripttest.NewSession(&origin, 3, transcripttest.Era197, transcripttest.SessionOptions{Version: "2.1.197"})
	for range 3 {
		s.Prompt("")
		s.Reply(transcripttest.Reply{})
	}
	s.Compact(transcripttest.Compaction{Trigger: transcripttest.Manual})
	s.Prompt("")
	s.Reply(transcripttest.Reply{})
	n := s.Copy(&fork, transcripttest.Forked)
	n.Compact(transcripttest.Compaction{Trigger: transcripttest.Auto})
	n.Reply(transcripttest.Reply{})
	paths := []string{filepath.Join(t.TempDir(), n.ID()+".jsonl")}
	place(t, paths[0], fork.Bytes())
	if found, err := filepath.Glob("../../../shared/shapes/s18*.jsonl"); err == nil {
		paths = append(paths, found...)
	}
	for _, path := range paths {
		r, g := reported(t, path), gridOf(t, path)
		replay := api.Compactions{}
		for _, x := range replayed(t, path) {
			if x.Event == "compaction" {
				countTrigger(&replay, map[string]transcript.Trigger{"auto": transcript.Auto, "manual": transcript.Manual}[x.Trigger])
			}
		}
		if d := cmp.Diff([]api.Compactions{r.Compactions, r.Compactions}, []api.Compactions{g.Compactions, replay}); d != "" || r.Compactions.Manual != 1 || g.Unseen != 1 {
			t.Errorf("%d manual, %d unseen (-report +grid, replay):\n%s", r.Compactions.Manual, g.Unseen, d)
		}
	}
}

// TestHalves: the halves have as many compactions as groups of sessions allow, copies of all kinds are with their
// origins, and the order in which files are found makes no difference.
func TestHalves(t *testing.T) {
	for seed := range uint64(6) {
		dir := t.TempDir()
		truth, err := transcripttest.Generate(dir, transcripttest.Options{Seed: 500 + seed, Sessions: 30, Copies: true})
		if err != nil {
			t.Fatal(err)
		}
		h := settled(t, dir)
		halves, weights, largest := map[string]int{}, [2]int{}, map[int]int{}
		for i, p := range h.chapters {
			halves[p.change.Name] = p.half
			for _, c := range p.change.Compactions {
				if own := h.own[nameOf(&c)]; own.chapter == int32(i) && c.Trigger != transcript.Manual {
					weights[p.half]++
					largest[p.group]++
				}
			}
		}
		most := 0
		for _, n := range largest {
			most = max(most, n)
		}
		if d := weights[0] - weights[1]; d > most || -d > most || weights[0] == 0 || weights[1] == 0 {
			t.Errorf("halves of %v compactions, no group has more than %d", weights, most)
		}
		together := 0
		for path, f := range truth.Files {
			name, home := filepath.Base(path), f.Origin
			name = name[:len(name)-len(".jsonl")]
			if f.AgentID != "" || home == "" || f.CopyKind == transcripttest.Anonymous || f.CopyKind == transcripttest.Continued {
				continue
			}
			half, ok := halves[home]
			if mine, told := halves[name]; ok && told {
				together++
				if mine != half {
					t.Errorf("seed %d: %s, %s, is not with its origin %s", seed, name, f.CopyKind, home)
				}
			}
		}
		if together == 0 && seed == 0 {
			t.Error("nothing was copied")
		}
		again := settled(t, dir)
		slices.Reverse(again.chapters)
		again.settle(nil, time.Now())
		for _, p := range again.chapters {
			if halves[p.change.Name] != p.half {
				t.Errorf("%s changes its half", p.change.Name)
			}
		}
	}
}

// TestRepeatedLines: of the lines of one reply those stay that tell when work went on.
func TestRepeatedLines(t *testing.T) {
	line := func(message string, minute float64) *transcript.Entry {
		return &transcript.Entry{Kind: transcript.KindReading, Message: transcript.KeyOf([]byte(message)), At: transcript.InstantOf(at(minute)), Context: 1000}
	}
	turn := &transcript.Entry{Kind: transcript.KindTurnStart, UUID: 7, At: transcript.InstantOf(at(20))}
	boundary := &transcript.Entry{Kind: transcript.KindBoundary, UUID: 8, At: transcript.InstantOf(at(3.1))}
	for _, c := range []struct {
		name string
		list []*transcript.Entry
		want []float64
	}{
		{"three lines", []*transcript.Entry{line("a", 1), line("a", 2), line("a", 3)}, []float64{1, 3}},
		{"another reply", []*transcript.Entry{line("a", 1), line("a", 2), line("a", 3), line("b", 4)}, []float64{1, 4}},
		{"after a pause", []*transcript.Entry{line("a", 1), line("a", 3), turn}, []float64{1, 3, 20}},
		{"a pause of just so long", []*transcript.Entry{line("a", 1), line("a", 3), line("b", 6)}, []float64{1, 6}},
		{"and longer", []*transcript.Entry{line("a", 1), line("a", 3), line("b", 6.1)}, []float64{1, 3, 6.1}},
		{"out of order", []*transcript.Entry{line("a", 1), line("a", 3), line("b", 2)}, []float64{1, 3, 2}},
		{"a compaction", []*transcript.Entry{line("a", 1), line("a", 3), boundary}, []float64{1, 3, 3.1}},
		{"two replies alike", []*transcript.Entry{line("a", 1), line("b", 2), line("c", 3)}, []float64{1, 2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &chronicle{models: []string{""}, index: map[string]uint16{"": 0}}
			p := &chapter{}
			for _, e := range c.list {
				h.note(p, e)
			}
			var got []float64
			for _, r := range p.facts {
				got = append(got, r.at.Time().Sub(at(0)).Minutes())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestStrangeFiles: what holds no record is no session, and it is told how many such files there were.
func TestStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	s := newScript(1)
	s.turn()
	s.read(20)
	written(t, dir, s)
	place(t, filepath.Join(dir, "empty.jsonl"), nil)
	place(t, filepath.Join(dir, "binary.jsonl"), []byte("\x1f\x8b\x00\x01\n\xff\xfe"))
	r, g := reported(t, dir), gridOf(t, dir)
	if r.Sessions != 1 || r.Strange != 2 || g.Sessions != 1 || g.Strange != 2 {
		t.Errorf("%d sessions and %d files, grid %d and %d", r.Sessions, r.Strange, g.Sessions, g.Strange)
	}
	for _, args := range [][]string{{"report", dir}, {"replay", "--grid", dir}, {"report", filepath.Join(dir, "empty.jsonl")}} {
		if text := output(t, args...); !bytes.Contains(text, []byte("left out\n")) {
			t.Errorf("%v says nothing of them:\n%s", args, text)
		}
	}
}

// TestInterrupted: whoever ends a report or a grid need not wait until all has been told.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		s := newScript(n)
		s.filled(20, 160, 10, 2)
		written(t, dir, s)
	}
	h := settled(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	err := h.tell(ctx, nil, func(telling) { told++; cancel() })
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("%d told, %v", told, err)
	}
	r := newTrial(ctx, alerts.Defaults(), 1)
	if _, err := r.whole(alerts.Thresholds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("tried on: %v", err)
	}
	var stderr bytes.Buffer
	if code := run(ctx, []string{"report", dir}, nil, &bytes.Buffer{}, &stderr); code != exitFailed || !bytes.Contains(stderr.Bytes(), []byte("interrupted")) {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
