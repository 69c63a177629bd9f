package history

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/clients/clientstest"
	"sm/transcript/transcripttest"
)

// place writes a file.
func place(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// settled returns the events in the transcripts of a folder.
func settled(t *testing.T, dir string) *History {
	t.Helper()
	h := unsettled(t, dir)
	h.Settle(nil, time.Now())
	return h
}

// unsettled returns all transcripts of a folder, read but not compared.
func unsettled(t *testing.T, dir string) *History {
	t.Helper()
	h, err := Read(t.Context(), Options{Clients: clientstest.Table()}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestOrigins tests with a resume that keeps all names, and with a fork of a fork, that
// shared events happened in the first file.
func TestOrigins(t *testing.T) {
	a := transcripttest.NewHandWritten(1)
	a.Turn()
	a.Read(20)
	b := a.Copied(2, false)
	b.Turn() // after a minute
	b.Read(30)
	a.Turn() // at once, and for longer
	a.Read(40)
	a.Now = a.Now.Add(time.Hour)
	a.Turn()
	h := settled(t, transcripttest.Written(t, t.TempDir(), a, b))
	if h.logs[0].change.Name != a.ID {
		t.Error("the copy is first")
	}
}

// TestInTheirOrder tests that a fork with its new reply before its copies, and a resume that
// has rewritten its copies, are read in the order and at the times of the original events.
func TestInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		kind    string
		version string
	}{
		{transcripttest.Forked, "2.1.197"},
		{transcripttest.Restamped, "1.0.120"},
		{transcripttest.SDKForked, "2.1.197"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			s := transcripttest.NewSession(5, c.version)
			for range 3 {
				s.Prompt()
				s.Reply()
			}
			before := s.Now()
			n := s.Copy(c.kind)
			n.Prompt()
			n.Reply()
			dir := t.TempDir()
			place(t, filepath.Join(dir, s.ID()+".jsonl"), s.Bytes())
			place(t, filepath.Join(dir, n.ID()+".jsonl"), n.Bytes())
			h := settled(t, dir)
			old := 0
			seen := 0
			err := h.Each(t.Context(), func(s Timeline) {
				if s.Change.Name != n.ID() {
					return
				}
				seen++
				for i := range s.Events {
					if s.Events[i].Kind == alerts.EventReading &&
						!s.Events[i].At.After(before) {
						old++
					}
					if i > 0 && s.Events[i].At.Before(s.Events[i-1].At) {
						t.Errorf("event %d is older than the one before", i)
					}
				}
			})
			if err != nil || seen != 1 || old != 3 {
				t.Errorf(
					"%v; got %d reports, %d readings of the original; want 3",
					err,
					seen,
					old,
				)
			}
		})
	}
}

// TestOrderOfFiles tests that the result does not depend on the order in which workers read
// files.
func TestOrderOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("uses one goroutine, and is ten times as slow with the race detector")
	}
	type finding struct {
		Place  int
		Agent  string
		Alone  transcript.Instant
		Passed bool
	}
	for seed := range uint64(6) {
		dir := t.TempDir()
		if _, err := transcripttest.Generate(dir, transcripttest.Options{
			Seed:     500 + seed,
			Sessions: 30,
			Copies:   true,
		}); err != nil {
			t.Fatal(err)
		}
		var want map[string]finding
		for order := range uint64(6) {
			h := unsettled(t, dir)
			slices.SortFunc(h.logs, (*log).earlier)
			random := rand.New(rand.NewPCG(seed, order))
			random.Shuffle(
				len(h.logs),
				func(i, j int) { h.logs[i], h.logs[j] = h.logs[j], h.logs[i] },
			)
			h.Settle(nil, time.Now())
			got := map[string]finding{}
			for i, p := range h.logs {
				got[p.change.Name] = finding{
					i,
					p.agent,
					p.alone,
					p.passed,
				}
			}
			if want == nil {
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, order %d (-first order +this):\n%s", seed, order, d)
			}
		}
	}
}

// TestInterrupted tests that Each ends with its context, before the last transcript.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		s := transcripttest.NewHandWritten(n)
		s.Filled(20, 160, 10, 2)
		transcripttest.Written(t, dir, s)
	}
	h := settled(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := h.Each(ctx, func(Timeline) { n++; cancel() })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("got %d timelines, %v", n, err)
	}
}
