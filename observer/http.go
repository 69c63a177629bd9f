package observer

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"

	"sm/observer/api"
	"sm/observer/fleet"
)

// routes lists what is served, and to whom over TCP.
func (a *App) routes() []route {
	get := []string{http.MethodGet}
	return []route{
		{pattern: "/{$}", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getPage)},
		{pattern: "/sessions", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getSessions)},
		{pattern: "/sessions/{id}", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getSession)},
		{pattern: "/metrics", methods: get, tier: tierAnyLocal, handler: a.metricsHandler()},
		{pattern: "/-/healthy", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getHealthy)},
		{pattern: "/-/ready", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getReady)},
	}
}

// metricsHandler serves /metrics, compressed lightly: the library's own gzip takes
// longer than all the rest.
func (a *App) metricsHandler() http.Handler {
	return zipped(promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{
		DisableCompression: true, EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError,
	}))
}

// zipped compresses the answers of h for those who take gzip.
func zipped(h http.Handler) http.Handler {
	writers := sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
		return w
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !acceptsGzip(r.Header.Get("Accept-Encoding")) || r.Method == http.MethodHead {
			h.ServeHTTP(w, r)
			return
		}
		z := writers.Get().(*gzip.Writer)
		defer writers.Put(z)
		z.Reset(w)
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		h.ServeHTTP(zipWriter{w, z}, r)
		_ = z.Close() // the peer has gone: nobody to tell
	})
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			q := strings.ReplaceAll(params, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}

type zipWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (w zipWriter) Write(b []byte) (int, error) { return w.z.Write(b) }

func (w zipWriter) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// serveMetrics serves /metrics and health to other machines, behind the passwords
// and TLS of its own file.
func (a *App) serveMetrics(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metricsHandler())
	mux.HandleFunc("GET /-/healthy", a.getHealthy)
	mux.HandleFunc("GET /-/ready", a.getReady)
	server := newServer(mux, defaultServerTimeouts(), a.log)
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	systemd := false
	err := web.ListenAndServe(server, &web.FlagConfig{
		WebListenAddresses: &[]string{a.o.MetricsListen}, WebSystemdSocket: &systemd, WebConfigFile: &a.o.WebConfigFile,
	}, a.log.With("component", "metrics"))
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

func (a *App) getHealthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n")
}

func (a *App) getReady(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-a.ready:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ready\n")
	default:
		answerError(w, http.StatusServiceUnavailable, "still reading what existed at the start; ask again in a second")
	}
}

func (a *App) getSessions(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	answer := api.Sessions{Sessions: []api.Session{}}
	var views []fleet.View
	err := a.do(r.Context(), func(c *core) {
		views, answer.CatchingUp = c.fleet.Views(now), !c.caughtUp
	})
	if err != nil {
		answerError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	for _, v := range views {
		answer.Sessions = append(answer.Sessions, sessionOf(v))
	}
	answerJSON(w, http.StatusOK, answer)
}

func (a *App) getSession(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var v fleet.View
	var found error
	if err := a.do(r.Context(), func(c *core) { v, found = c.fleet.View(r.PathValue("id"), now) }); err != nil {
		answerError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	switch {
	case errors.Is(found, fleet.ErrAmbiguous):
		answerError(w, http.StatusConflict, "the id fits several sessions; give more of it")
	case found != nil:
		answerError(w, http.StatusNotFound, "no such session; GET /sessions lists them")
	default:
		answerJSON(w, http.StatusOK, sessionOf(v))
	}
}

// answerJSON writes v as the whole answer.
func answerJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		answerError(w, http.StatusInternalServerError, "the answer cannot be written as JSON; report this")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the peer has gone: nobody to tell
}
