package observer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// varied runs an observer of a fleet that has every kind of session, and in which
// all that can be counted has been counted.
func varied(t *testing.T) *rig {
	r := newRig(t)
	r.o.Alerts.CompactionThreshold = 160_000
	r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "go on"), reply(ago(8*time.Minute), "m1", 50_123, 300))
	r.write(uuid(2), reply(ago(7*time.Minute), "m2", 120_000, 70), boundary(ago(6*time.Minute), "b2", "auto", 120_070))
	r.write(uuid(3), prompt(ago(5*time.Minute), "p3", "nothing yet"))
	r.write(uuid(4), reply(ago(4*time.Minute), "m4", 190_000, 70), "no JSON")
	r.write(
		"not-an-id",
		cut(40_000, replyOf("claude \"x\"\\y", "/home/dev/a\\b\n\"c\"", ago(3*time.Minute), "m5", 700_000, 1)),
	)
	r.client(4711, uuid(1), `,"status":"busy"`)
	r.start()
	r.write(uuid(1), boundary(ago(0), "b3", "manual", 50_123), boundary(ago(0), "b4", "other", 1))
	last := ago(0) // of both: a reply that is older than the boundary before it shows no context
	r.write(uuid(4), boundary(last, "b5", "auto", 190_070), reply(last, "m6", 40_000, 1_234_567))
	r.until(
		"compactions are counted",
		func() bool { return r.scrape()[`agent_compactions_total{client="claude",trigger="auto"}`] == 1 },
	)
	r.until("sessions have their clients", func() bool {
		return r.scrape()[`agent_session_compactions_total{session="`+uuid(1)[:8]+`",trigger="unknown"}`] == 1
	})
	r.ask("POST", "/hooks/claude", fmt.Sprintf(`{"hook_event_name":"StatusLine","session_id":%q,"sm":{"at":%q},"context_window":{"context_window_size":200000,`+
		`"used_percentage":20,"current_usage":{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":39898}},"cost":{"total_cost_usd":1.5},`+
		`"rate_limits":{"five_hour":{"used_percentage":42,"resets_at":%d},"seven_day":{"used_percentage":7,"resets_at":%[3]d}}}`, uuid(4), last, time.Now().Add(time.Hour).Unix()))
	r.until("the status line agrees", func() bool { return len(having(r.scrape(), "agent_session_drift_tokens")) == 1 })
	return r
}

// TestMetricsContract: names, types and labels are promises.
func TestMetricsContract(t *testing.T) {
	t.Parallel()
	r := varied(t)
	r.fire("other", uuid(9), "SessionStart", `,"source":"startup"`)
	body := r.get("/metrics").Body
	families, err := parse(body)
	noErrors(t, err)
	var list []*dto.MetricFamily
	var contract strings.Builder
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		list = append(list, f)
		if !ours(name) {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("whose is %s?", name)
			}
			continue
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if !strings.HasSuffix(f.GetHelp(), ".") || strings.Contains(f.GetHelp(), "\n") {
			t.Errorf("%s: help %q", name, f.GetHelp())
		}
		fmt.Fprintf(&contract, "%s{%s} %s\n", name, strings.Join(labels, ","), strings.ToLower(f.GetType().String()))
	}
	golden(t, "metrics.golden", contract.String())
	problems, err := promlint.NewWithMetricFamilies(list).Lint()
	noErrors(t, err)
	for _, p := range problems {
		t.Errorf("lint: %s: %s", p.Metric, p.Text)
	}
}

// TestMetricsEmpty: what counts the fleet is there, at 0, before there is a fleet;
// else the first event would be no increase.
func TestMetricsEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	values := r.scrape()
	want := map[string]float64{
		`agent_compactions_total{client="claude",trigger="auto"}`: 0, `agent_compactions_total{client="claude",trigger="manual"}`: 0,
		`agent_compactions_total{client="claude",trigger="unknown"}`: 0,
		`agent_tokens_total{client="claude",kind="input"}`:           0, `agent_tokens_total{client="claude",kind="output"}`: 0,
		`agent_tokens_total{client="claude",kind="cache_creation"}`: 0, `agent_tokens_total{client="claude",kind="cache_read"}`: 0,
		`sm_transcript_lines_total{result="ok"}`: 0, `sm_transcript_lines_total{result="bad"}`: 0,
		`sm_transcript_bytes_total`: 0, `sm_sessions_unexported`: 0, `sm_read_lag_bytes`: 0,
		`sm_transcripts{state="failed"}`: 0, `sm_transcripts{state="live"}`: 0, `sm_transcripts{state="parked"}`: 0,
		`agent_compaction_pre_tokens_count{client="claude"}`: 0, `agent_compaction_pre_tokens_sum{client="claude"}`: 0,
		`agent_compaction_pre_tokens_bucket{client="claude",le="+Inf"}`: 0, `agent_compaction_pre_tokens_bucket{client="claude",le="200000"}`: 0,
		`agent_compaction_duration_seconds_count{client="claude"}`: 0, `agent_compaction_duration_seconds_bucket{client="claude",le="2.5"}`: 0,
		`sm_http_refused_total{reason="host"}`: 0, `sm_http_refused_total{reason="peer"}`: 0,
	}
	got := maps.Clone(values)
	maps.DeleteFunc(got, func(name string, _ float64) bool { _, asked := want[name]; return !asked })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := having(values, "agent_session"); len(got) > 0 {
		t.Errorf("series of no session: %v", got)
	}
	r.get("/metrics", "Origin", "http://evil.example")
	if got := r.scrape()[`sm_http_refused_total{reason="browser"}`]; got != 1 {
		t.Errorf("%v refusals counted, want 1", got)
	}
}

// TestMetricsCount follows a session through compactions and a restart: what is
// unknown is absent, and what has been counted stays.
func TestMetricsCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := uuid(1)
	s := uuid(1)[:8]
	r.write(id, boundary(ago(48*time.Hour), "old", "auto", 150_000), reply(ago(time.Minute), "m1", 50_123, 300))
	r.start()
	context := `agent_session_context_tokens{session="` + s + `"}`
	ratio := `agent_session_context_ratio{session="` + s + `"}`
	if v := r.scrape(); v[context] != 50_123 || v[ratio] != 50_123.0/200_000 {
		t.Errorf("context %v, ratio %v", v[context], v[ratio])
	}
	r.checkCompactions("history", s, 0, 0)
	r.write(id, boundary(ago(0), "b1", "auto", 50_400), boundary(ago(0), "b2", "manual", 900))
	r.until(
		"both are counted",
		func() bool { return r.scrape()[`agent_compactions_total{client="claude",trigger="manual"}`] == 1 },
	)
	r.checkCompactions("after two", s, 1, 1)
	for name, v := range r.scrape() {
		if name == context || name == ratio || strings.HasPrefix(name, "agent_session_level") && v != 0 {
			t.Errorf("after a boundary %s is %v", name, v)
		}
	}
	r.write(id, reply(ago(0), "m2", 130_000, 500))
	r.until("the context is known again", func() bool { return r.scrape()[context] == 130_000 })
	if v := r.scrape()[`agent_session_level{level="critical",session="`+s+`"}`]; v != 1 {
		t.Error("not critical at 65 %")
	}

	lasting := func() map[string]float64 {
		v := r.scrape()
		kept := having(v, "agent_")
		maps.Copy(kept, having(v, "sm_transcript_"))
		return kept
	}
	before := lasting()
	r.stop()
	r.start()
	if diff := cmp.Diff(before, lasting()); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	if got := before[`agent_tokens_total{client="claude",kind="output"}`]; got != 500 {
		t.Errorf("%v tokens of output, want 500: those of history do not count", got)
	}
	if got := before[`agent_compaction_duration_seconds_bucket{client="claude",le="20"}`]; got != 2 {
		t.Errorf("%v compactions took up to 20 s, want 2", got)
	}
	r.stop()
}

// checkCompactions expects the session's counters to be there for all triggers.
func (r *rig) checkCompactions(when, session string, auto, manual float64) {
	r.t.Helper()
	series := func(trigger string) string {
		return `agent_session_compactions_total{session="` + session + `",trigger="` + trigger + `"}`
	}
	want := map[string]float64{series("auto"): auto, series("manual"): manual, series("unknown"): 0, series("idle"): 0}
	if diff := cmp.Diff(want, having(r.scrape(), "agent_session_compactions_total")); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}
