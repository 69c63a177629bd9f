// Package metrics exports the observer's figures to Prometheus.
//
// A scrape shows one Snapshot, so all values are of the same moment. The
// counters of a snapshot are stored in the state directory and survive a
// restart. They become families in a gatherer of this package, since constant
// metrics of client_golang cost several times as much. Counters of this process
// alone are ordinary metrics in a registry of the Exporter.
//
// To add a metric of a field of api.Session, add a line to builder.gauges and
// one to help. Names, types and labels are stable, see testdata/metrics.golden.
// Label values from transcripts are limited in length and printable.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"sm/transcript/follow"
)

// Options are the options of an Exporter.
type Options struct {
	Version, Commit string        // of the build
	Transcripts     *follow.Stats // of the transcripts that are followed
	Reasons         []string      // all arguments of Refused
}

// Exporter answers scrapes. It is safe for concurrent use.
type Exporter struct {
	o        Options
	registry *prometheus.Registry
	refused  *prometheus.CounterVec
	polls    *prometheus.CounterVec
}

// New returns an exporter with its own registry.
func New(o Options) *Exporter {
	e := &Exporter{
		o:        o,
		registry: prometheus.NewRegistry(),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sm_http_refused_total",
			Help: "Requests that the guard turned away, by reason.",
		}, []string{"reason"}),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sm_alertmanager_polls_total",
			Help: "Requests for alerts to Alertmanagers that are configured, by outcome.",
		}, []string{"outcome"}),
	}
	for _, reason := range o.Reasons { // all begin at 0
		e.refused.WithLabelValues(reason)
	}
	e.polls.WithLabelValues("answered")
	e.polls.WithLabelValues("failed")
	e.registry.MustRegister(e.refused, e.polls, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return e
}

// Refused counts a request that was refused for one of Options.Reasons.
func (e *Exporter) Refused(reason string) { e.refused.WithLabelValues(reason).Inc() }

// Polled counts a request to an Alertmanager, by whether it failed.
func (e *Exporter) Polled(failed bool) {
	outcome := "answered"
	if failed {
		outcome = "failed"
	}
	e.polls.WithLabelValues(outcome).Inc()
}

// Serve answers a scrape with a snapshot in the requested format, compressed if
// the client accepts that.
func (e *Exporter) Serve(w http.ResponseWriter, r *http.Request, s *Snapshot) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return e.gather(s, format.FormatType() == expfmt.TypeOpenMetrics)
	})
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	}).ServeHTTP(w, r)
}

// gather returns all families in the order of their names.
func (e *Exporter) gather(s *Snapshot, open bool) ([]*dto.MetricFamily, error) {
	families, err := e.registry.Gather()
	if open {
		// In OpenMetrics the name of a counter's family has no _total, and this
		// family of the Go collector would have the name of another one: it
		// becomes untyped.
		for _, f := range families {
			if f.GetName() != "go_memstats_alloc_bytes_total" {
				continue
			}
			f.Type = dto.MetricType_UNTYPED.Enum()
			for _, m := range f.Metric {
				m.Untyped = &dto.Untyped{Value: m.Counter.Value}
				m.Counter = nil
			}
		}
	}
	b := newBuilder()
	parts := clientParts(s)
	b.sessions(s.Sessions, s.HideProject)
	b.clients(parts)
	b.costs(&s.Fleet)
	b.read(s, parts)
	b.messages(s)
	o := &e.o
	add(b, "sm_sessions_unexported", s.Unexported)
	add(b, "sm_transcripts", o.Transcripts.Failed.Load(), "state", "failed")
	add(b, "sm_transcripts", o.Transcripts.Live.Load(), "state", "live")
	add(b, "sm_transcripts", o.Transcripts.Parked.Load(), "state", "parked")
	add(b, "sm_read_lag_bytes", o.Transcripts.Lag.Load())
	add(b, "sm_config_last_reload_successful", truth(!s.ReloadFailed))
	add(b, "sm_config_last_reload_success_timestamp_seconds", seconds(s.ReloadedAt))
	add(b, "sm_build_info", 1,
		"commit", o.Commit, "goversion", runtime.Version(), "version", o.Version)
	for _, f := range b {
		if len(f.Metric) > 0 {
			families = append(families, f)
		}
	}
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int {
		return strings.Compare(x.GetName(), y.GetName())
	})
	return families, err
}
