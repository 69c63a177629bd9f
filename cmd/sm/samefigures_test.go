package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/transcript/transcripttest"
)

// TestSameFigures tests that sm status, for all agents and for each, and /metrics have the
// same figures of sessions before a compaction, after several, and right after one.
func TestSameFigures(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for n, compactions := range []int{0, 4, 1} {
		s := transcripttest.NewHandWritten(n)
		s.Now = time.Now().Add(-time.Hour).UTC()
		for range compactions {
			s.Filled(24, 163, 6, 2)
		}
		for size := 40; n < 2 && size < 150; size += 3 {
			s.Turn()
			s.Read(size)
		}
		if n == 2 {
			s.Compact("auto", 160)
		}
		transcripttest.Written(t, d.projects, s)
	}
	d.start()
	var all api.Sessions
	status := func(v any, args ...string) {
		t.Helper()
		out, err := d.command(append([]string{"status", "--json"}, args...)...).Output()
		if err == nil {
			err = json.Unmarshal(out, v)
		}
		noErrors(t, err)
	}
	status(&all)
	metrics := d.series()
	sources := map[string]int{}
	unknown := 0
	for _, s := range all.Sessions {
		var one api.Session
		if status(
			&one,
			s.ID,
		); cmp.Diff(s.TokensUsed, one.TokensUsed) != "" ||
			cmp.Diff(s.Pressure, one.Pressure) != "" {
			t.Errorf("sm status: got %+v among all, %+v alone", s, one)
		}
		want := map[string]float64{}
		if s.TokensUsed != nil {
			want["context_tokens"] = float64(*s.TokensUsed)
		} else {
			unknown++
		}
		if s.Pressure != nil {
			want["pressure_ratio"] = *s.Pressure
		}
		if s.Forecast != nil && s.Forecast.Replies != nil {
			want["forecast_replies"] = s.Forecast.Replies.Likely
		}
		got := map[string]float64{}
		for _, name := range []string{
			"context_tokens",
			"pressure_ratio",
			"forecast_replies",
		} {
			if v, there := metrics[fmt.Sprintf(
				"agent_session_%s{session=%q}",
				name,
				s.Label,
			)]; there {
				got[name] = v
			}
		}
		if s.ThresholdTokens != nil {
			sources[s.ThresholdSource]++
			want["threshold"] = float64(*s.ThresholdTokens)
			got["threshold"] = metrics[fmt.Sprintf(
				"agent_session_compaction_threshold_tokens{session=%q,source=%q}", s.Label, s.ThresholdSource)]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-sm status +/metrics):\n%s", s.ID, diff)
		}
	}
	if len(all.Sessions) != 3 || unknown != 1 || sources["seen"] == 0 {
		t.Errorf(
			"%d sessions, %d of an unknown size, thresholds %v",
			len(all.Sessions),
			unknown,
			sources,
		)
	}
}
