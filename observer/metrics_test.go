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

	"sm/transcript"
)

// varied runs an observer of a fleet with every kind of session, in which every counter has
// counted.
func varied(t *testing.T) *rig {
	r := newRig(t)
	r.o.Alerts.CompactionThreshold = 160_000
	r.o.Prices = transcript.Prices{{Model: "claude", Output: 25}}
	r.write(
		uuid(1),
		prompt(ago(9*time.Minute), "p1", "go on"),
		reply(ago(8*time.Minute), "m1", 50_123, 300),
	)
	r.write(
		uuid(2),
		reply(ago(7*time.Minute), "m2", 120_000, 70),
		boundary(ago(6*time.Minute), "b2", "auto", 120_070),
	)
	r.write(uuid(3), prompt(ago(5*time.Minute), "p3", "nothing yet"))
	r.write(uuid(4), reply(ago(4*time.Minute), "m4", 190_000, 70), "no JSON")
	r.write(
		"not-an-id",
		cut(
			40_000,
			replyOf(
				"claude \"x\"\\y",
				"/home/dev/a\\b\n\"c\"",
				ago(3*time.Minute),
				"m5",
				700_000,
				1,
			),
		),
	)
	r.client(4711, uuid(1), `,"status":"busy"`)
	r.start()
	r.write(
		uuid(1),
		boundary(ago(0), "b3", "manual", 50_123),
		boundary(ago(0), "b4", "other", 1),
	)
	last := ago(0) // for both: a reply older than its preceding boundary shows no context
	r.write(
		uuid(4),
		boundary(last, "b5", "auto", 190_070),
		reply(last, "m6", 40_000, 1_234_567),
	)
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
	r.until(
		"the status line agrees",
		func() bool { return len(having(r.scrape(), "agent_session_drift_tokens")) == 1 },
	)
	return r
}

// TestMetricsContract tests names, types and labels, which are a contract.
func TestMetricsContract(t *testing.T) {
	t.Parallel()
	r := varied(t)
	r.fire("other", uuid(9), "SessionStart", `,"source":"startup"`)
	r.sends(uuid(1), "sequential", "Look at CI.")
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
				t.Errorf("unexpected family %s", name)
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
		fmt.Fprintf(
			&contract,
			"%s{%s} %s\n",
			name,
			strings.Join(labels, ","),
			strings.ToLower(f.GetType().String()),
		)
	}
	golden(t, "metrics.golden", contract.String())
	problems, err := promlint.NewWithMetricFamilies(list).Lint()
	noErrors(t, err)
	for _, p := range problems {
		t.Errorf("lint: %s: %s", p.Metric, p.Text)
	}
}

// TestMetricsEmpty tests that counters of the fleet exist at 0 before there is a fleet;
// otherwise the first event would be no increase.
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
	maps.DeleteFunc(
		got,
		func(name string, _ float64) bool { _, asked := want[name]; return !asked },
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := having(values, "agent_session"); len(got) > 0 {
		t.Errorf("series of no session: %v", got)
	}
	r.get("/metrics", "Origin", "http://evil.example")
	if got := r.scrape()[`sm_http_refused_total{reason="browser"}`]; got != 1 {
		t.Errorf("got %v refusals, want 1", got)
	}
}
