package replay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
	"sm/transcript/clients/clientstest"
	"sm/transcript/transcripttest"
)

// records reads transcripts that are written for a test.
func records(t *testing.T, all ...*transcripttest.HandWritten) []transcript.Change {
	t.Helper()
	dir := t.TempDir()
	for _, s := range all {
		transcripttest.Written(t, dir, s)
	}
	return recordsIn(t, dir)
}

// recordsIn reads the transcripts in a folder.
func recordsIn(t *testing.T, dir string) []transcript.Change {
	t.Helper()
	changes, err := history.Records(t.Context(), history.Options{
		Clients: clientstest.Table(),
	}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func options() Options {
	o := alerts.Defaults()
	o.Thresholds = alerts.Thresholds{WarningPercentage: 50, CriticalPercentage: 65}
	return Options{
		Clients: clientstest.Table(),
		Policy:  o,
		Now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// TestRun tests that a session that grows slowly gets a warning before it is compacted, and
// one that jumps does not.
func TestRun(t *testing.T) {
	t.Parallel()
	slow := transcripttest.NewHandWritten(1)
	jump := transcripttest.NewHandWritten(2)
	for _, thousands := range []int{20, 60, 105, 110, 135, 140, 160} {
		slow.Turn()
		slow.Read(thousands)
	}
	slow.Compact("auto", 165)
	jump.Turn()
	jump.Read(20)
	jump.Compact("manual", 90)
	events, err := Run(t.Context(), records(t, slow, jump), options())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for i, e := range events {
		if e.At == nil || i > 0 && e.At.Before(*events[i-1].At) {
			t.Errorf("event %d is at %v, after one at %v", i, e.At, events[max(0, i-1)].At)
		}
		line := fmt.Sprint(
			e.Event,
			e.Cycle,
			" ",
			e.Kind,
			" ",
			e.To,
			" ",
			e.Mode,
			" ",
			e.Trigger,
			" ",
			e.PreTokens,
		)
		if e.Warned != nil {
			line += fmt.Sprint(" ", *e.Warned)
		}
		if e.Text != "" {
			line += " with a text"
		}
		got[e.Session[:8]] = append(got[e.Session[:8]], line)
	}
	want := map[string][]string{
		"00000001": {
			"notice1 warning self sequential  0 with a text",
			"notice1 critical self urgent  0 with a text",
			"compaction1    auto 165000 true",
		},
		"00000002": {"compaction1    manual 90000 false"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRunUnstamped tests that compactions without ids and times end the cycles of their
// lines.
func TestRunUnstamped(t *testing.T) {
	t.Parallel()
	s := transcripttest.NewHandWritten(1)
	for _, thousands := range []int{20, 150} {
		s.Turn()
		s.Read(thousands)
		s.Compact("auto", thousands)
	}
	for _, r := range s.Records {
		delete(r, "uuid")
		delete(r, "parentUuid")
		delete(r, "timestamp")
	}
	events, err := Run(t.Context(), records(t, s), options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		if e.Event == "compaction" {
			got = append(got, fmt.Sprint(e.Cycle, " warned: ", *e.Warned))
		}
	}
	want := []string{"1 warned: false", "2 warned: true"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRunEnds tests that a replay ends with its context and refuses an invalid policy.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	s := transcripttest.NewHandWritten(1)
	s.Turn()
	s.Read(20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events, err := Run(ctx, records(t, s), options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", events, err)
	}
	o := options()
	o.Policy.Messages.Warning = "{{"
	if events, err := Run(t.Context(), records(t, s), o); err == nil {
		t.Errorf("no error, %d events", len(events))
	}
}
