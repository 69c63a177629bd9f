package observer

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

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
		{pattern: "/metrics", methods: get, tier: tierAnyLocal, handler: a.metrics},
		{pattern: "/-/healthy", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getHealthy)},
		{pattern: "/-/ready", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getReady)},
	}
}

// metricsRoutes lists what is served to other machines: /metrics and health alone.
func (a *App) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics)
	mux.HandleFunc("GET /-/healthy", a.getHealthy)
	mux.HandleFunc("GET /-/ready", a.getReady)
	return mux
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
		answer.Sessions = append(answer.Sessions, SessionOf(v))
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
		answerJSON(w, http.StatusOK, SessionOf(v))
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
