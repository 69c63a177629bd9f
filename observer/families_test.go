package observer

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// signalled returns the families of metrics that come from signals and the policy.
func signalled() []string {
	return []string{
		"agent_session_context_tokens", "agent_session_context_window_tokens", "agent_session_context_ratio", "agent_session_statusline_ratio",
		"agent_session_drift_tokens", "agent_session_sample_timestamp_seconds", "agent_session_compaction_threshold_tokens",
		"agent_session_pressure_ratio", "agent_session_forecast_replies", "agent_session_forecast_replies_low", "agent_session_forecast_replies_high",
		"agent_session_forecast_turns", "agent_session_forecast_seconds", "agent_session_compacting", "agent_session_active", "agent_session_level",
		"agent_session_compactions_total", "agent_compactions_total", "agent_compaction_attempts_total", "agent_compaction_storms_total",
		"sm_notices_total", "sm_messages_total", "sm_queue_messages", "sm_hook_events_total",
	}
}

// figures returns the values of those families that are not 0, without the name of the
// session if there is only one.
func (r *rig) figures() map[string]float64 {
	r.t.Helper()
	all := r.scrape()
	got := map[string]float64{}
	for _, family := range signalled() {
		part := having(all, family)
		maps.DeleteFunc(
			part,
			func(name string, _ float64) bool {
				return name != family &&
					name[len(family)] != '{'
			},
		)
		if len(part) == 0 {
			r.t.Errorf("%s has no series", family)
		}
		maps.DeleteFunc(part, func(_ string, v float64) bool { return v == 0 })
		maps.Copy(got, part)
	}
	return got
}

// grown returns a session of 6 turns, a minute each, that grows by 10,000 tokens in each. Six
// replies move the mean growth a part of the way to that.
func grown(end time.Time) (lines []string) {
	for i := range 6 {
		at := end.Add(time.Duration(i-5) * time.Minute)
		lines = append(lines, prompt(
			stamp(at.Add(-40*time.Second)),
			fmt.Sprint("p", i),
			"Go.",
		), reply(
			stamp(at),
			fmt.Sprint("m", i),
			10_000*(i+1),
			10,
		),
			`{"type":"system","subtype":"turn_duration","uuid":"d`+fmt.Sprint(i)+`","timestamp":"`+stamp(at.Add(10*time.Millisecond))+`"}`)
	}
	return lines
}

// newGrown returns an observer of the session of grown, whose agent is em, and the time of its
// last record.
func newGrown(t *testing.T) (r *rig, last time.Time) {
	t.Helper()
	r = newWatched(t)
	r.o.Alerts.CompactionThreshold = 160_000
	r.start()
	last = time.Now().Add(-30 * time.Second).Truncate(time.Millisecond)
	r.write(uuid(1), grown(last)...)
	r.hookAt(last.Add(-6*time.Minute), "SessionStart", `,"source":"startup"`)
	r.until("the transcript is read", func() bool { return r.session("em").Turns == 6 })
	return r, last
}

// TestFamiliesOfSignals feeds all sources and checks every metric; after more events and
// a restart it checks the counters again.
func TestFamiliesOfSignals(t *testing.T) {
	t.Parallel()
	r, last := newGrown(t)
	r.hookAt(last.Add(time.Second), "StatusLine", `,"context_window":{"context_window_size":200000,`+
		`"used_percentage":31,"current_usage":{"input_tokens":2,"cache_read_input_tokens":61998}}`)
	r.sends("em", "sequential", "text")
	seconds := func(d time.Duration) float64 { return float64(last.Add(d).UnixMilli()) / 1000 }
	want := map[string]float64{
		`agent_session_context_tokens{session="em"}`: 60_000, `agent_session_context_window_tokens{session="em"}`: 200_000,
		`agent_session_context_ratio{session="em"}`: 0.3, `agent_session_statusline_ratio{session="em"}`: 0.31, `agent_session_drift_tokens{session="em"}`: 2_000,
		`agent_session_sample_timestamp_seconds{session="em",source="transcript"}`:    seconds(0),
		`agent_session_sample_timestamp_seconds{session="em",source="statusline"}`:    seconds(time.Second),
		`agent_session_sample_timestamp_seconds{session="em",source="hook"}`:          seconds(-6 * time.Minute),
		`agent_session_compaction_threshold_tokens{session="em",source="configured"}`: 160_000,
		`agent_session_pressure_ratio{session="em"}`:                                  0.375, `agent_session_forecast_replies{session="em"}`: 28,
		`agent_session_forecast_replies_low{session="em"}`: 7, `agent_session_forecast_replies_high{session="em"}`: 56,
		`agent_session_forecast_turns{session="em"}`: 12, `agent_session_forecast_seconds{session="em"}`: 1120,
		`agent_session_active{session="em"}`: 1, `agent_session_level{level="ok",session="em"}`: 1,
		`sm_queue_messages`: 1, `sm_hook_events_total{event="SessionStart"}`: 1, `sm_hook_events_total{event="StatusLine"}`: 1,
	}
	got := r.figures()
	for _, name := range []string{
		`agent_session_forecast_replies{session="em"}`, `agent_session_forecast_replies_low{session="em"}`, `agent_session_forecast_replies_high{session="em"}`,
		`agent_session_forecast_turns{session="em"}`, `agent_session_forecast_seconds{session="em"}`,
	} {
		if low, high := want[name]*0.8, want[name]*1.2; got[name] < low || got[name] > high {
			t.Errorf("%s: got %v, want about %v", name, got[name], want[name])
		}
		delete(got, name)
		delete(want, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first part (-want +got):\n%s", diff)
	}
	r.hookAt(last.Add(2*time.Second), "PreCompact", `,"trigger":"manual"`)
	if got := r.scrape()[`agent_session_compacting{session="em"}`]; got != 1 {
		t.Errorf("compacting: %v", got)
	}
	r.storm(last, 160_000, 132_000)
	r.until(
		"the storm is reported",
		func() bool { return r.scrape()[`agent_compaction_storms_total{client="claude"}`] == 1 },
	)
	r.untilMail(
		"the last is critical",
		"text waiting",
		"em/2/critical withdrawn",
		"em/3/critical withdrawn",
		"em/4/critical waiting",
	)
	counters := map[string]float64{
		`agent_compactions_total{client="claude",trigger="auto"}`: 3, `agent_session_compactions_total{session="em",trigger="auto"}`: 3,
		`agent_compaction_attempts_total{client="claude",trigger="manual"}`: 1, `agent_compaction_storms_total{client="claude"}`: 1,
		`sm_notices_total{kind="critical"}`: 3, `sm_notices_total{kind="storm"}`: 1, `sm_messages_total{outcome="withdrawn",via="none"}`: 2,
		`sm_hook_events_total{event="PreCompact"}`: 1, `sm_hook_events_total{event="SessionStart"}`: 1, `sm_hook_events_total{event="StatusLine"}`: 1,
	}
	for name, end := range restarts() {
		got := r.figures()
		maps.DeleteFunc(
			got,
			func(name string, _ float64) bool { return !strings.Contains(name, "_total") },
		)
		if diff := cmp.Diff(counters, got); diff != "" {
			t.Errorf("counters after it was %s (-want +got):\n%s", name, diff)
		}
		if v := r.scrape(); v[`agent_session_compacting{session="em"}`] != 0 ||
			v[`agent_session_level{level="critical",session="em"}`] != 1 ||
			v["sm_queue_messages"] != 2 {
			t.Errorf("gauges: %v", having(v, "agent_session_"))
		}
		end(r)
		r.start()
	}
}

// storm writes compactions that make a storm, with the sizes of the context before and after
// each. They begin five seconds after a time.
func (r *rig) storm(at time.Time, before, after int) {
	for i := range 3 {
		then := at.Add(time.Duration(5+5*i) * time.Second)
		r.write(
			uuid(1),
			boundary(stamp(then), fmt.Sprint("b", i), "auto", before),
			reply(stamp(then.Add(time.Second)), fmt.Sprint("n", i), after, 10),
		)
	}
}
