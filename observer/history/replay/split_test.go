package replay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/observer/history"
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
			if say, ok := action.(alerts.Say); ok {
				l.said = append(l.said, say.Key.String())
			}
		}
	}
}

// grow reads a transcript, so many lines with each change, or all at once with 0. After each change the observer's clock,
// which is months ahead of the records, reports a running client.
func (l *liveFleet) grow(t *testing.T, path string, lines int) {
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
		messages, compactions := fold.Take()
		c.Messages, c.Compactions = slices.Clone(messages), slices.Clone(compactions)
		c.Session, c.Title = *fold.Sum(), fold.Facts().Title
		l.take(c)
		c.Entries = nil
		c.Whole = false
		for _, v := range l.engine.Snapshot().Agents {
			now = now.Add(time.Second)
			l.engine.Step(alerts.Event{
				Kind:  alerts.EventActive,
				Agent: v.Agent,
				At:    now,
				On:    !v.Active,
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
			c.Entries = append(c.Entries, e)
		}
		c.Cursor.Offset += int64(len(line))
		if n++; lines > 0 && n%lines == 0 {
			send()
		}
	}
	send()
}

// TestSplitAnywhere: notices depend neither on how many lines a change brings nor on when the observer checks activity.
// Thresholds are of the window alone, because the version that decides where a client compacts may come later.
func TestSplitAnywhere(t *testing.T) {
	t.Parallel()
	o := options().Policy
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
		changes, err := history.Records(t.Context(), history.Options{
			Clients: clientstest.Table(),
		}, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, lines := range []int{0, 1, 2, 3, 5, 7} {
			l := &liveFleet{
				fleet: fleet.New(fleet.Options{
					Clients: clientstest.Table(),
					Created: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
				}, fleet.Stored{
					Settled: true,
				}),
			}
			if l.engine, err = alerts.New(o); err != nil {
				t.Fatal(err)
			}
			for i := range changes {
				l.grow(t, changes[i].Cursor.Path, lines)
			}
			if slices.Sort(l.said); lines == 0 {
				want = l.said
			} else if d := cmp.Diff(want, l.said); d != "" {
				t.Error(
					fmt.Sprintf(
						"seed %d, %d lines at a time (-all at once +so):\n",
						seed,
						lines,
					),
					d,
				)
			}
		}
	}
}
