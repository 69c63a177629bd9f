package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sm/observer/history/tune"
	"sm/transcript/transcripttest"
)

// regular returns sessions of some cycles that fill up in small steps, with a prompt every
// other reading, to different sizes.
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

// TestAdviceInForce tests that there is nothing to change or paste if the recommended
// settings are in force.
func TestAdviceInForce(t *testing.T) {
	dir := transcripttest.Written(t, t.TempDir(), regular(10, 4)...)
	g := gridOf(t, dir, "--warning", "95", "--critical", "98")
	if g.Chosen == nil || g.Chosen.Unit != "percent" {
		t.Fatalf("chosen: %+v", g.Chosen)
	}
	flags := []string{
		"--warning",
		fmt.Sprint(g.Chosen.Warning),
		"--critical",
		fmt.Sprint(g.Chosen.Critical),
	}
	again := gridOf(t, append([]string{dir}, flags...)...)
	if again.Advice != tune.AdviceKeep || len(again.Configuration) > 0 {
		t.Errorf("advice %q, lines %q", again.Advice, again.Configuration)
	}
	text := string(output(
		t,
		append([]string{"replay", "--grid", "--verbose", dir}, flags...)...,
	))
	if !strings.Contains(text, "Keep ") || strings.Contains(text, "context_monitor:") {
		t.Errorf("printed:\n%s", text)
	}
}

// TestSizesUnreported tests that for clients that report no size at compactions, the size is
// that of the latest reading, and thresholds in tokens are tried too.
func TestSizesUnreported(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		s := transcripttest.NewHandWritten(n)
		for size := 20; size < 160; size += 5 {
			s.Turn()
			s.Read(size)
		}
		s.Compact("auto", 0)
		s.Now = s.Now.Add(-25e9)
		s.Read(158) // written later, with an older time
		s.Now = s.Now.Add(60e9)
		s.Read(30)
		transcripttest.Written(t, dir, s)
	}
	r := reported(t, dir)
	if r.Pre.Known != 12 || *r.Pre.Min != 158_000 || *r.Pre.Max != 158_000 ||
		*r.Post.Max != 30_000 {
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

// TestWindowThatTurnedOut tests that percentages are of the window that a session turned out
// to have, for all of the session.
func TestWindowThatTurnedOut(t *testing.T) {
	s := transcripttest.NewHandWritten(1)
	for size := 20; size < 700; size += 20 {
		s.Turn()
		s.Read(size)
	}
	s.Compact("auto", 700)
	g := gridOf(t, transcripttest.Written(t, t.TempDir(), s))
	if f := g.Current; f.Timely != 1 || math.Abs(f.Used-5./7) > 1e-9 {
		t.Errorf("got %+v; want a warning at 500 of 700", f)
	}
}
