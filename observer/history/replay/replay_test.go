package replay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := history.Records(t.Context(), history.Options{Clients: clientstest.Table()}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func options() Options {
	o := alerts.Defaults()
	o.Thresholds = alerts.Thresholds{WarningPercentage: 50, CriticalPercentage: 65}
	return Options{Clients: clientstest.Table(), Policy: o, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// TestRun: a session that grows slowly is warned before it is compacted, one that jumps is not.
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
	got := map[string][]Event{}
	for i, e := range events {
		if e.At == nil || i > 0 && e.At.Before(*events[i-1].At) {
			t.Errorf("event %d is at %v, after one at %v", i, e.At, events[max(0, i-1)].At)
		}
		if (e.Text == "") != (e.Event == "compaction") {
			t.Errorf("text of a %s: %q", e.Event, e.Text)
		}
		got[e.Session] = append(got[e.Session], e)
	}
	if len(got) != 2 || len(events) == 0 {
		t.Fatalf("%d sessions, %d events", len(got), len(events))
	}
	yes := true
	no := false
	want := [][]Event{
		{
			{
				Event: "notice",
				Cycle: 1,
				Kind:  "warning",
				To:    "self",
				Mode:  "sequential",
			},
			{
				Event: "notice",
				Cycle: 1,
				Kind:  "critical",
				To:    "self",
				Mode:  "urgent",
			},
			{
				Event:     "compaction",
				Cycle:     1,
				Trigger:   "auto",
				PreTokens: 165_000,
				Warned:    &yes,
			},
		},
		{{
			Event:     "compaction",
			Cycle:     1,
			Trigger:   "manual",
			PreTokens: 90_000,
			Warned:    &no,
		}},
	}
	var lists [][]Event
	for _, e := range events {
		if l := got[e.Session]; l != nil {
			lists = append(lists, l)
			delete(got, e.Session)
		}
	}
	if len(lists[0]) < len(lists[1]) {
		lists[0], lists[1] = lists[1], lists[0]
	}
	if diff := cmp.Diff(
		want,
		lists,
		cmpopts.IgnoreFields(Event{}, "Session", "Path", "Project", "At", "Text", "Threshold", "ThresholdSource"),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRunEnds: a replay ends with its context, and refuses a policy that is not valid.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	s := transcripttest.NewHandWritten(1)
	s.Turn()
	s.Read(20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events, err := Run(ctx, records(t, s), options()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", events, err)
	}
	o := options()
	o.Policy.Thresholds.WarningPercentage = 200
	if events, err := Run(t.Context(), records(t, s), o); err == nil {
		t.Errorf("no error, %d events", len(events))
	}
}
