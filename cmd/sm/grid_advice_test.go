package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/observer/history"
	"sm/observer/history/tune"
	"sm/transcript/transcripttest"
)

// regular are sessions of some cycles that fill up in small steps, a prompt every other reading, to sizes that differ.
func regular(sessions, cycles int) (all []*transcripttest.HandWritten) {
	for n := range sessions {
		s := transcripttest.NewHandWritten(n)
		for c := range cycles {
			s.Filled(24+2*c, 163+(7*n+5*c)%11, 3, 2)
		}
		s.Turn()
		s.Read(30, 50)
		all = append(all, s)
	}
	return all
}

// TestAdvice: the advice for fleets where the best values are known.
func TestAdvice(t *testing.T) {
	jumps := func(sessions int) (all []*transcripttest.HandWritten) {
		for n := range sessions {
			s := transcripttest.NewHandWritten(n)
			for range 3 {
				s.Turn()
				s.Read(20, 30)
				s.Compact("auto", 165)
			}
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct {
		name  string
		fleet []*transcripttest.HandWritten
		flags []string
		want  tune.Advice
		lines int
		says  []string
	}{
		{
			"nothing at all",
			nil,
			nil,
			tune.AdviceTooFew,
			0,
			[]string{"0 compactions", "Too few", "50% and 65% on all sessions", "Forecast"},
		},
		{
			"no compaction",
			[]*transcripttest.HandWritten{transcripttest.NewHandWritten(0)},
			nil,
			tune.AdviceTooFew,
			0,
			[]string{"Too few"},
		},
		{"too few", regular(4, 2), nil, tune.AdviceTooFew, 0, []string{"Too few", "has 4.", "8 compactions\nWARN"}},
		{
			"no threshold helps",
			jumps(10),
			nil,
			tune.AdviceNone,
			0,
			[]string{"No threshold gives a notice in time", "30 compactions"},
		},
		{
			"late ones",
			regular(10, 4),
			[]string{"--warning", "95", "--critical", "98"},
			tune.AdviceChange,
			3,
			[]string{"Change to", "under context_monitor:"},
		},
		{
			"early ones",
			regular(10, 4),
			[]string{"--warning", "20", "--critical", "30"},
			tune.AdviceChange,
			3,
			[]string{"Change to"},
		},
		{
			"one session",
			regular(1, 12),
			nil,
			tune.AdviceUnchecked,
			3,
			[]string{"One session: there is nothing to check against", "To try it"},
		},
		{
			"one large and one small",
			append(regular(1, 12), regular(2, 1)[1]),
			nil,
			tune.AdviceUnchecked,
			3,
			[]string{"1 compaction", "which is too few: 5 are needed", "To try it"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{transcripttest.Written(t, t.TempDir(), c.fleet...)}, c.flags...)
			g := gridOf(t, args...)
			if g.Advice != c.want || len(g.Configuration) != c.lines {
				t.Errorf("advice %q, lines %q; want %q and %d", g.Advice, g.Configuration, c.want, c.lines)
			}
			text := string(output(t, append([]string{"replay", "--grid", "--verbose"}, args...)...))
			fitsWidth(t, text)
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing:\n%s", part, text)
				}
			}
		})
	}
}

// TestAdviceInForce: where what is in force is what would be chosen there is nothing to change, and nothing to paste.
func TestAdviceInForce(t *testing.T) {
	dir := transcripttest.Written(t, t.TempDir(), regular(10, 4)...)
	g := gridOf(t, dir, "--warning", "95", "--critical", "98")
	if g.Chosen == nil || g.Chosen.Unit != "percent" {
		t.Fatalf("chosen: %+v", g.Chosen)
	}
	flags := []string{"--warning", fmt.Sprint(g.Chosen.Warning), "--critical", fmt.Sprint(g.Chosen.Critical)}
	again := gridOf(t, append([]string{dir}, flags...)...)
	if again.Advice != tune.AdviceKeep || len(again.Configuration) > 0 {
		t.Errorf("advice %q, lines %q", again.Advice, again.Configuration)
	}
	text := string(output(t, append([]string{"replay", "--grid", "--verbose", dir}, flags...)...))
	if !strings.Contains(text, "Nothing to change") || strings.Contains(text, "context_monitor:") {
		t.Errorf("said:\n%s", text)
	}
	// And where it is in the configuration, but something else was to be compared with.
	plainEnvironment(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	place(t, path, []byte(strings.Join(g.Configuration, "\n")))
	text = string(outputHere(
		t,
		"replay",
		"--grid",
		"--verbose",
		"--config",
		path,
		"--warning",
		"95",
		"--critical",
		"98",
		dir,
	))
	if !strings.Contains(text, "The configuration has it already") {
		t.Errorf("said:\n%s", text)
	}
}

// TestHeldOut: what the sessions that check are like has no part in what is chosen, nor in what there is to choose from.
func TestHeldOut(t *testing.T) {
	dir := transcripttest.Written(t, t.TempDir(), regular(20, 3)...)
	before := gridOf(t, dir)
	changed := 0
	for _, s := range timelines(t, dir) {
		if s.Half == history.Holdout {
			changed++
			b, err := os.ReadFile(s.Change.Cursor.Path)
			if err != nil {
				t.Fatal(err)
			}
			place(t, s.Change.Cursor.Path, bytes.ReplaceAll(b, []byte(`"preTokens":1`), []byte(`"preTokens":41`)))
		}
	}
	after := gridOf(t, dir)
	only := cmpopts.IgnoreFields(tune.Candidate{}, "Checking")
	if d := cmp.Diff(
		before.Pairs,
		after.Pairs,
		only,
		cmpopts.IgnoreUnexported(tune.Candidate{}),
	); d != "" ||
		changed < 8 {
		t.Errorf("%d sessions changed (-before +after):\n%s", changed, d)
	}
	if d := cmp.Diff(before.Chosen, after.Chosen, only, cmpopts.IgnoreUnexported(tune.Candidate{})); d != "" {
		t.Errorf("chosen (-before +after):\n%s", d)
	}
	if d := cmp.Diff(before.Default.Checking, after.Default.Checking); d == "" {
		t.Error("the sessions that check are as they were")
	}
}

// TestSizesUntold: for clients without a size at compactions, the size is that of the last reading by its time, and
// thresholds in tokens are tried there too.
func TestSizesUntold(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		s := transcripttest.NewHandWritten(n)
		for size := 20; size < 160; size += 5 {
			s.Turn()
			s.Read(size)
		}
		s.Compact("auto", 0)
		s.Now = s.Now.Add(-25e9)
		s.Read(158) // written late, but it is older
		s.Now = s.Now.Add(60e9)
		s.Read(30)
		transcripttest.Written(t, dir, s)
	}
	r := reported(t, dir)
	if r.Pre.Known != 12 || *r.Pre.Min != 158_000 || *r.Pre.Max != 158_000 || *r.Post.Max != 30_000 {
		t.Errorf("before %+v, after %+v", r.Pre, r.Post)
	}
	g := gridOf(t, dir)
	if !slices.ContainsFunc(
		g.Pairs,
		func(p tune.Candidate) bool { return p.Unit == "tokens" && p.Critical > 100_000 },
	) {
		t.Error("no thresholds in tokens are tried")
	}
}

// TestWindowThatTurnedOut: percentages are of the window that a session turned out to have, from its beginning on.
func TestWindowThatTurnedOut(t *testing.T) {
	s := transcripttest.NewHandWritten(1)
	for size := 20; size < 700; size += 20 {
		s.Turn()
		s.Read(size)
	}
	s.Compact("auto", 700)
	g := gridOf(t, transcripttest.Written(t, t.TempDir(), s))
	if f := g.Overall; f.Timely != 1 || math.Abs(f.Used-5./7) > 1e-9 {
		t.Errorf("%+v; want a warning at 500 of 700", f)
	}
}

// TestNoKnee: a coverage that is 0 throughout has no knee.
func TestNoKnee(t *testing.T) {
	var all []*transcripttest.HandWritten
	for n := range 10 {
		s := transcripttest.NewHandWritten(n)
		s.Turn()
		s.Read(20, 150)
		s.Compact("auto", 165)
		all = append(all, s)
	}
	for _, k := range gridOf(t, transcripttest.Written(t, t.TempDir(), all...)).Knees {
		if k.Warning != nil || k.Critical != nil {
			t.Errorf("%s: %v and %v", k.Unit, k.Warning, k.Critical)
		}
	}
}

// TestConfigurationLinesOfFlags: what the flags say to compare with is not what is configured.
func TestConfigurationLinesOfFlags(t *testing.T) {
	plainEnvironment(t)
	dir := transcripttest.Written(t, t.TempDir(), regular(10, 4)...)
	path := filepath.Join(t.TempDir(), "config.yaml")
	place(t, path, []byte("context_monitor: {warning_tokens: 190000, critical_tokens: 195000}\n"))
	text := string(outputHere(
		t,
		"replay",
		"--grid",
		"--verbose",
		"--config",
		path,
		"--warning",
		"0",
		"--critical",
		"98",
		dir,
	))
	if !strings.Contains(text, "\n  warning_tokens: 0\n  critical_tokens: 0\n") ||
		!strings.Contains(text, "off and 98%") {
		t.Errorf("said:\n%s", text)
	}
}
