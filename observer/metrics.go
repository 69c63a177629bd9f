package observer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
)

// metrics makes /metrics out of what the loop knows at that moment.
type metrics struct {
	app      *App
	process  *prometheus.Registry // Go and process collectors
	refusals map[string]*atomic.Uint64
	pages    sync.Pool // of *page
	writers  sync.Pool // of *gzip.Writer
}

func newMetrics(a *App) *metrics {
	m := &metrics{app: a, process: prometheus.NewRegistry(), refusals: map[string]*atomic.Uint64{}}
	m.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, reason := range access.Reasons() {
		m.refusals[reason] = new(atomic.Uint64)
	}
	m.pages.New = func() any { return new(page) }
	m.writers.New = func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
		return z
	}
	return m
}

// rejected counts a request that the guard turned away.
func (m *metrics) rejected(reason string) { m.refusals[reason].Add(1) }

// page is one scrape in the making. Pages are used again: a scrape of many sessions
// makes as good as no garbage.
type page struct {
	exposition
	views      []shown
	sessions   []*shown // of views, those to show
	unexported int
	counters   fleet.Counters
	alerts     alerts.Counters
	ended      outbox.Counters
	rotations  rotation.Counters
	queued     int
	hooks      map[hook.Event]uint64
	process    bytes.Buffer
}

// shown is a session with what the policy knows of its agent.
type shown struct {
	fleet.View
	policy policy
}

// release gives a page back without what it holds of the fleet.
func (m *metrics) release(p *page) {
	clear(p.views)
	clear(p.sessions)
	p.views, p.sessions, p.buf = p.views[:0], p.sessions[:0], p.buf[:0]
	p.counters, p.hooks = fleet.Counters{}, nil
	p.process.Reset()
	m.pages.Put(p)
}

// ServeHTTP answers a scrape.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := m.pages.Get().(*page)
	defer m.release(p)
	format := expfmt.NegotiateAccept(r.Header, openMetrics1, openMetrics0, expfmt.NewFormat(expfmt.TypeTextPlain))
	if err := m.write(r.Context(), p, format); err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", string(format))
	h.Set("Vary", "Accept, Accept-Encoding")
	if !acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Length", strconv.Itoa(len(p.buf)))
		_, _ = w.Write(p.buf) // the peer has gone: nobody to tell
		return
	}
	h.Set("Content-Encoding", "gzip")
	z := m.writers.Get().(*gzip.Writer)
	defer m.writers.Put(z)
	z.Reset(w)
	_, _ = z.Write(p.buf)
	_ = z.Close()
	z.Reset(io.Discard)
}

// The versions of OpenMetrics that servers ask for.
const (
	openMetrics1 = expfmt.Format(expfmt.OpenMetricsType + "; version=" + expfmt.OpenMetricsVersion_1_0_0 + "; charset=utf-8")
	openMetrics0 = expfmt.Format(expfmt.OpenMetricsType + "; version=" + expfmt.OpenMetricsVersion_0_0_1 + "; charset=utf-8")
)

// scrapeWithin bounds the wait for the loop.
const scrapeWithin = 5 * time.Second

// write makes the whole page.
func (m *metrics) write(ctx context.Context, p *page, format expfmt.Format) error {
	p.open = format.FormatType() == expfmt.TypeOpenMetrics
	if err := m.look(ctx, p, time.Now()); err != nil {
		return err
	}
	m.families(p)
	if err := m.writeProcess(p, format); err != nil {
		return fmt.Errorf("write process metrics: %w; try again", err)
	}
	if p.open {
		p.buf = append(p.buf, "# EOF\n"...)
	}
	return nil
}

// writeProcess adds what the library knows of Go and of this process.
func (m *metrics) writeProcess(p *page, format expfmt.Format) error {
	families, err := m.process.Gather()
	if err != nil {
		return err
	}
	encoder := expfmt.NewEncoder(&p.process, format)
	for _, f := range families {
		if p.open && f.GetName() == "go_memstats_alloc_bytes_total" {
			untype(f)
		}
		if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	p.buf = append(p.buf, p.process.Bytes()...)
	return nil
}

// untype keeps a counter's name whole in OpenMetrics, where another family is called
// like it without _total.
func untype(f *dto.MetricFamily) {
	f.Type = dto.MetricType_UNTYPED.Enum()
	for _, sample := range f.Metric {
		sample.Untyped, sample.Counter = &dto.Untyped{Value: sample.Counter.Value}, nil
	}
}

// look asks the loop what there is to show.
func (m *metrics) look(ctx context.Context, p *page, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeWithin)
	defer cancel()
	ttl := m.app.settings.Load().SessionTTL
	if err := m.app.do(ctx, func(c *core) {
		for v := range c.fleet.All(now) {
			if !v.Past && (v.Client.PID != 0 || ttl <= 0 || now.Sub(v.Seen()) <= ttl) {
				p.views = append(p.views, shown{v, c.policy(&v)})
			}
		}
		p.counters, p.alerts, p.ended, p.queued = c.fleet.Counters(), c.engine.Counters(), c.queue.Counters(), c.queue.Waiting()
		p.rotations = c.rotations.Counters()
		p.hooks = maps.Clone(c.hooks.By)
	}); err != nil {
		return err
	}
	p.choose(m.app.settings.Load().MaxSessions)
	return nil
}

// choose takes at most so many sessions, 0 for all: those at work first, then those
// that were last. They stand in the order of their labels.
func (p *page) choose(most int) {
	for i := range p.views {
		p.sessions = append(p.sessions, &p.views[i])
	}
	p.unexported = 0
	if most > 0 && len(p.sessions) > most {
		slices.SortFunc(p.sessions, func(x, y *shown) int {
			return cmp.Or(btoi(y.Live)-btoi(x.Live), y.Seen().Compare(x.Seen()), strings.Compare(x.Label, y.Label))
		})
		p.unexported = len(p.sessions) - most
		clear(p.sessions[most:])
		p.sessions = p.sessions[:most]
	}
	slices.SortFunc(p.sessions, func(x, y *shown) int { return strings.Compare(x.Label, y.Label) })
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		return !given || err == nil && weight > 0
	}
	return false
}
