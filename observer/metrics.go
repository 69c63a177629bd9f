package observer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"sm/alerts"
	"sm/observer/fleet"
)

// metrics makes /metrics out of what the loop knows at that moment. The families
// of sessions are built by hand: a registry's check of each series costs more than
// all else. A test holds the result against a checking registry.
type metrics struct {
	app      *App
	process  *prometheus.Registry // Go and process collectors
	refusals map[string]*atomic.Uint64
}

func newMetrics(a *App) *metrics {
	m := &metrics{app: a, process: prometheus.NewRegistry(), refusals: map[string]*atomic.Uint64{}}
	m.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, reason := range rejectReasons() {
		m.refusals[reason] = new(atomic.Uint64)
	}
	return m
}

// rejected counts a request that the guard turned away.
func (m *metrics) rejected(reason string) { m.refusals[reason].Add(1) }

// scrape is what one scrape shows.
type scrape struct {
	views      []fleet.View
	unexported int
	counters   fleet.Counters
}

// Gather implements prometheus.Gatherer.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	now := time.Now()
	var s scrape
	if err := m.app.do(ctx, func(c *core) {
		s.views = c.fleet.Views(now)
		s.counters = c.fleet.Counters()
	}); err != nil {
		return nil, fmt.Errorf("ask the loop: %w", err)
	}
	s.views, s.unexported = m.app.exported(s.views, now)
	families, err := m.process.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather process metrics: %w", err)
	}
	families = append(families, m.sessions(s.views)...)
	families = append(families, m.fleet(s)...)
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, nil
}

// exported chooses the sessions to show, in the order of their labels: those with
// a client or lately active, at most MaxSessions, the newest activity first. It
// says how many of them there was no room for.
func (a *App) exported(views []fleet.View, now time.Time) (shown []fleet.View, left int) {
	shown = slices.DeleteFunc(views, func(v fleet.View) bool {
		return v.Client.PID == 0 && a.o.SessionTTL > 0 && now.Sub(v.Seen()) > a.o.SessionTTL
	})
	if a.o.MaxSessions > 0 && len(shown) > a.o.MaxSessions {
		slices.SortStableFunc(shown, func(x, y fleet.View) int { return y.Seen().Compare(x.Seen()) })
		left = len(shown) - a.o.MaxSessions
		shown = shown[:a.o.MaxSessions]
	}
	slices.SortFunc(shown, func(x, y fleet.View) int { return strings.Compare(x.Label, y.Label) })
	return shown, left
}

// family is a metric family in the making.
type family struct{ f *dto.MetricFamily }

func newFamily(name, help string, kind dto.MetricType, room int) family {
	return family{&dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: make([]*dto.Metric, 0, room)}}
}

func (f family) gauge(value float64, labels ...*dto.LabelPair) {
	f.f.Metric = append(f.f.Metric, &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: &value}})
}

func (f family) count(value float64, labels ...*dto.LabelPair) {
	f.f.Metric = append(f.f.Metric, &dto.Metric{Label: labels, Counter: &dto.Counter{Value: &value}})
}

// label makes a pair; labels of one metric must be in the order of their names.
func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// sessions builds the families that have a session label.
func (m *metrics) sessions(views []fleet.View) []*dto.MetricFamily {
	n := len(views)
	gauge, counter := dto.MetricType_GAUGE, dto.MetricType_COUNTER
	info := newFamily("claude_session_info", "What is known of a session besides figures; always 1.", gauge, n)
	tokens := newFamily("claude_session_context_tokens", "Tokens in the context at the newest reply; absent while unknown, as after a compaction.", gauge, n)
	window := newFamily("claude_session_context_window_tokens", "Size of the context window.", gauge, n)
	ratio := newFamily("claude_session_context_ratio", "Share of the context window in use, 0 to 1, by the transcript; absent while unknown.", gauge, n)
	sample := newFamily("claude_session_sample_timestamp_seconds", "Time of the newest reading from a source.", gauge, n)
	activity := newFamily("claude_session_last_activity_timestamp_seconds", "Time of the newest record.", gauge, n)
	active := newFamily("claude_session_active", "1 while the session's client runs or it did something in the last 10 minutes.", gauge, n)
	level := newFamily("claude_session_level", "1 for the level that the context has reached, 0 for the others.", gauge, 4*n)
	threshold := newFamily("claude_session_compaction_threshold_tokens", "Context size at which the client compacts by itself; absent while unknown.", gauge, n)
	compactions := newFamily("claude_session_compactions_total", "Compactions of the session since the state directory was made.", counter, 3*n)
	history := newFamily("claude_session_transcript_compactions", "Compactions of the session that its transcript holds, without those copied from another session.", gauge, 3*n)
	triggers := [3]*dto.LabelPair{label("trigger", "auto"), label("trigger", "manual"), label("trigger", "unknown")}
	levels := map[alerts.Level]*dto.LabelPair{}
	for _, l := range alerts.Levels() {
		levels[l] = label("level", l.String())
	}
	transcripts := label("source", "transcript")
	for i := range views {
		v := &views[i]
		session := label("session", v.Label)
		info.gauge(1, m.infoLabels(v, session)...)
		window.gauge(float64(v.Window.Tokens), session)
		if v.Known {
			tokens.gauge(float64(v.Tokens), session)
			ratio.gauge(min(1, float64(v.Tokens)/float64(v.Window.Tokens)), session)
		}
		if !v.Reading.IsZero() {
			sample.gauge(seconds(v.Reading), session, transcripts)
		}
		if seen := v.Seen(); !seen.IsZero() {
			activity.gauge(seconds(seen), session)
		}
		active.gauge(truth(v.Live), session)
		for _, l := range alerts.Levels() {
			level.gauge(truth(v.Known && v.Level == l), levels[l], session)
		}
		if m.app.o.CompactionThreshold > 0 {
			threshold.gauge(float64(m.app.o.CompactionThreshold), session)
		}
		for t, trigger := range triggers {
			compactions.count(float64(v.Counted[t]), session, trigger)
			history.gauge(float64(v.Compactions[t]), session, trigger)
		}
	}
	return kept(info, tokens, window, ratio, sample, activity, active, level, threshold, compactions, history)
}

// kept leaves out families without a series, which the exposition must not have.
func kept(families ...family) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, f := range families {
		if len(f.f.Metric) > 0 {
			out = append(out, f.f)
		}
	}
	return out
}

func (m *metrics) infoLabels(v *fleet.View, session *dto.LabelPair) []*dto.LabelPair {
	project := v.Project
	if m.app.o.HideProject {
		project = ""
	}
	return []*dto.LabelPair{
		label("model", v.Model), label("project", strings.ToValidUTF8(project, "\uFFFD")), session, label("session_id", v.SessionID),
		label("version", v.Version), label("window_source", v.Window.Source.String()),
	}
}

// fleet builds the families about all sessions, and about sm itself.
func (m *metrics) fleet(s scrape) []*dto.MetricFamily {
	gauge, counter := dto.MetricType_GAUGE, dto.MetricType_COUNTER
	compactions := newFamily("claude_compactions_total", "Compactions since the state directory was made, each counted once.", counter, 3)
	for i, t := range []string{"auto", "manual", "unknown"} {
		compactions.count(float64(s.counters.Compactions[i]), label("trigger", t))
	}
	tokens := newFamily("claude_tokens_total", "Tokens of API messages since the state directory was made, each message counted once; subagents included.", counter, 4)
	t := s.counters.Tokens
	tokens.count(float64(t.CacheCreation), label("kind", "cache_creation"))
	tokens.count(float64(t.CacheRead), label("kind", "cache_read"))
	tokens.count(float64(t.Input), label("kind", "input"))
	tokens.count(float64(t.Output), label("kind", "output"))
	lines := newFamily("sm_transcript_lines_total", "Transcript lines read, history included; bad ones are no JSON objects.", counter, 2)
	lines.count(float64(s.counters.Lines.Bad), label("result", "bad"))
	lines.count(float64(s.counters.Lines.Good), label("result", "ok"))
	bytes := newFamily("sm_transcript_bytes_total", "Bytes of transcript lines read, history included.", counter, 1)
	bytes.count(float64(s.counters.Bytes))
	files := newFamily("sm_transcripts", "Transcript files known, by how they are watched.", gauge, 3)
	files.gauge(float64(m.app.stats.Failed.Load()), label("state", "failed"))
	files.gauge(float64(m.app.stats.Live.Load()), label("state", "live"))
	files.gauge(float64(m.app.stats.Parked.Load()), label("state", "parked"))
	unexported := newFamily("sm_sessions_unexported", "Active sessions beyond metrics.max_sessions, which have no series here.", gauge, 1)
	unexported.gauge(float64(s.unexported))
	lag := newFamily("sm_read_lag_bytes", "Bytes of live transcripts not read yet, as of the last check.", gauge, 1)
	lag.gauge(float64(m.app.stats.Lag.Load()))
	refused := newFamily("sm_http_refused_total", "Requests that the guard turned away, by reason.", counter, 8)
	for _, reason := range slices.Sorted(slices.Values(rejectReasons())) {
		refused.count(float64(m.refusals[reason].Load()), label("reason", reason))
	}
	build := newFamily("sm_build_info", "What this observer was built from; always 1.", gauge, 1)
	build.gauge(1, label("commit", m.app.o.Commit), label("goversion", runtime.Version()), label("version", m.app.o.Version))
	out := kept(compactions, tokens, lines, bytes, files, unexported, lag, refused, build)
	return append(out,
		histogram("claude_compaction_pre_tokens", "Context size before compactions since the state directory was made.", s.counters.PreTokens, fleet.PreTokensBounds()),
		histogram("claude_compaction_duration_seconds", "Duration of compactions since the state directory was made, where the transcript tells it.", s.counters.Duration, fleet.DurationBounds()))
}

func histogram(name, help string, h fleet.Histogram, bounds []float64) *dto.MetricFamily {
	f := newFamily(name, help, dto.MetricType_HISTOGRAM, 1)
	var count uint64
	buckets := make([]*dto.Bucket, len(bounds))
	for i, bound := range bounds {
		if i < len(h.Counts) {
			count += h.Counts[i]
		}
		buckets[i] = &dto.Bucket{UpperBound: &bound, CumulativeCount: new(count)}
	}
	if len(h.Counts) > len(bounds) {
		count += h.Counts[len(bounds)]
	}
	f.f.Metric = append(f.f.Metric, &dto.Metric{Histogram: &dto.Histogram{SampleCount: &count, SampleSum: &h.Sum, Bucket: buckets}})
	return f.f
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
