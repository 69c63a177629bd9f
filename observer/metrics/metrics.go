// Package metrics exports the observer's figures to Prometheus.
//
// A scrape shows one Snapshot, so all figures are of the same moment. The figures of
// a snapshot are stored in the state directory and survive a restart. They become
// families in a gatherer of this package, since constant metrics of client_golang
// cost six times as much, which matters with thousands of sessions. Figures of this
// process alone (build, followed transcripts, refused requests) are ordinary metrics
// in a registry of the Exporter. Formats and answers are by client_golang. Compression
// is done here: promhttp's takes as long as all the rest.
//
// Names, types and labels are stable, see testdata/metrics.golden. Label values from
// transcripts are limited in length and printable.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"sm/transcript/follow"
)

// Options are what an Exporter is made of.
type Options struct {
	Version, Commit string        // of the build
	Transcripts     *follow.Stats // figures of the transcripts that are followed
	Reasons         []string      // all that Refused is called with
	Polls           []string      // all that Polled is called with
	ReloadFailed    *atomic.Bool  // the newest configuration does not hold
	ReloadedAt      *atomic.Int64 // when the configuration was last read and held, in Unix milliseconds
}

// Exporter answers scrapes. Its methods can be called from any goroutine.
type Exporter struct {
	registry *prometheus.Registry
	refused  *prometheus.CounterVec
	polls    *prometheus.CounterVec
	builders sync.Pool // of *builder
	zippers  sync.Pool // of *zipper
}

// New makes an exporter with a registry of its own.
func New(o Options) *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry(), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sm_http_refused_total", Help: "Requests that the guard turned away, by reason.",
	}, []string{"reason"}), polls: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sm_alertmanager_polls_total", Help: "Requests for alerts to Alertmanagers that are configured, by outcome.",
	}, []string{"outcome"})}
	for _, reason := range o.Reasons {
		e.refused.WithLabelValues(reason)
	}
	for _, outcome := range o.Polls {
		e.polls.WithLabelValues(outcome)
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		e.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        name,
			Help:        help,
			ConstLabels: labels,
		}, value))
	}
	for state, n := range map[string]*atomic.Int64{
		"failed": &o.Transcripts.Failed,
		"live":   &o.Transcripts.Live,
		"parked": &o.Transcripts.Parked,
	} {
		gauge("sm_transcripts", "Transcript files known, by how they are watched.", prometheus.Labels{"state": state},
			func() float64 { return float64(n.Load()) })
	}
	gauge("sm_read_lag_bytes", "Bytes of live transcripts not read yet, as of the last check.", nil,
		func() float64 { return float64(o.Transcripts.Lag.Load()) })
	gauge("sm_config_last_reload_successful", "1 while the newest configuration is in effect, 0 after one that does not hold.", nil,
		func() float64 { return truth(!o.ReloadFailed.Load()) })
	gauge("sm_config_last_reload_success_timestamp_seconds", "When the configuration was last read and held; the start counts.", nil,
		func() float64 { return float64(o.ReloadedAt.Load()) / 1000 })
	gauge("sm_build_info", "What this observer was built from; always 1.",
		prometheus.Labels{
			"commit":    o.Commit,
			"goversion": runtime.Version(),
			"version":   o.Version,
		}, func() float64 { return 1 })
	e.registry.MustRegister(
		e.refused,
		e.polls,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return e
}

// Refused counts a request that was turned away for one of Options.Reasons.
func (e *Exporter) Refused(reason string) { e.refused.WithLabelValues(reason).Inc() }

// Polled counts a request to an Alertmanager with one of Options.Polls.
func (e *Exporter) Polled(outcome string) { e.polls.WithLabelValues(outcome).Inc() }

// Serve answers a scrape with a snapshot, in the format that the request asks for, compressed if it takes that.
func (e *Exporter) Serve(w http.ResponseWriter, r *http.Request, s *Snapshot) {
	b, _ := e.builders.Get().(*builder)
	if b == nil {
		b = new(builder)
	}
	defer func() { b.reset(); e.builders.Put(b) }()
	open := expfmt.NegotiateAccept(
		r.Header,
		expfmt.DefaultOpenMetricsAcceptedFormats()...,
	).FormatType() == expfmt.TypeOpenMetrics
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return e.gather(b, s, open) })
	w, end := e.compressed(w, r)
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity},
	}).ServeHTTP(w, r)
	end()
}

// gather gives all families in the order of their names. They hold until the builder is reset.
func (e *Exporter) gather(b *builder, s *Snapshot, open bool) ([]*dto.MetricFamily, error) {
	families, err := e.registry.Gather()
	if open {
		untype(families, "go_memstats_alloc_bytes_total")
	}
	b.sessions(s)
	b.totals(s)
	families = append(families, b.families...)
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int { return strings.Compare(x.GetName(), y.GetName()) })
	return families, err
}

// untype makes a counter untyped. In OpenMetrics a counter's family is called without _total, and so this one of the Go
// collector would have the name of another family.
func untype(families []*dto.MetricFamily, name string) {
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		f.Type = dto.MetricType_UNTYPED.Enum()
		for _, m := range f.Metric {
			m.Untyped = &dto.Untyped{Value: m.Counter.Value}
			m.Counter = nil
		}
	}
}
