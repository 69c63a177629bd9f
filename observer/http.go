package observer

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
)

// routes lists what is served, and to whom over TCP.
func (a *App) routes() []access.Route {
	get, post, del := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	all := []access.Route{
		{Pattern: "/{$}", Methods: get, Tier: access.SameUID, Handler: http.HandlerFunc(a.getPage)},
		{Pattern: "/events", Methods: get, Tier: access.SameUID, Stream: true, Handler: http.HandlerFunc(a.getEvents)},
		{Pattern: "/sessions", Methods: get, Tier: access.SameUID, Handler: http.HandlerFunc(a.getSessions)},
		{Pattern: "/sessions", Methods: post, Tier: access.SameUID, Handler: http.HandlerFunc(a.postSession)},
		{Pattern: "/sessions/{id}", Methods: get, Tier: access.SameUID, Handler: http.HandlerFunc(a.getSession)},
		{Pattern: "/sessions/{id}/messages", Methods: get, Handler: http.HandlerFunc(a.getMessages)},
		{Pattern: "/sessions/{id}/messages", Methods: post, Handler: http.HandlerFunc(a.postMessage)},
		{Pattern: "/sessions/{id}/messages/{message}", Methods: del, Handler: http.HandlerFunc(a.deleteMessage)},
		{Pattern: "/sessions/{id}/reminders", Methods: get, Handler: http.HandlerFunc(a.getReminders)},
		{Pattern: "/sessions/{id}/reminders", Methods: post, Handler: http.HandlerFunc(a.postReminder)},
		{Pattern: "/sessions/{id}/reminders/{reminder}", Methods: del, Handler: http.HandlerFunc(a.deleteReminder)},
		{Pattern: "/sessions/{id}/reminders/reset", Methods: post, Handler: http.HandlerFunc(a.resetReminders)},
		{Pattern: "/reminders", Methods: get, Handler: http.HandlerFunc(a.getAllReminders)},
		{Pattern: "/sessions/{id}/handoff", Methods: post, Handler: http.HandlerFunc(a.postHandoff)},
		{Pattern: "/handoffs", Methods: get, Handler: http.HandlerFunc(a.getHandoffs)},
		{Pattern: "/handoffs/{handoff}", Methods: del, Handler: http.HandlerFunc(a.deleteHandoff)},
		{Pattern: "/documents", Methods: get, Handler: http.HandlerFunc(a.getDocuments)},
		{Pattern: "/documents/{channel}", Methods: get, Handler: http.HandlerFunc(a.getDocument)},
		{Pattern: "/documents/{channel}", Methods: del, Handler: http.HandlerFunc(a.deleteDocuments)},
		{Pattern: "/runs/{id}/next", Methods: get, Stream: true, Handler: http.HandlerFunc(a.getRun)},
		{Pattern: "/messages", Methods: get, Handler: http.HandlerFunc(a.getAllMessages)},
		{Pattern: "/hooks/claude", Methods: post, Handler: http.HandlerFunc(a.postHook)},
		{Pattern: "/hooks/context-usage", Methods: post, Tier: access.SameUID, Handler: http.HandlerFunc(a.postUsage)},
		{Pattern: "/alerts/webhook", Methods: post, Tier: access.Token, Body: maxNotificationBytes, Handler: http.HandlerFunc(a.postAlerts)},
		{Pattern: "/metrics", Methods: get, Tier: access.AnyLocal, Handler: a.metrics},
		{Pattern: "/-/healthy", Methods: get, Tier: access.AnyLocal, Handler: http.HandlerFunc(a.getHealthy)},
		{Pattern: "/-/ready", Methods: get, Tier: access.AnyLocal, Handler: http.HandlerFunc(a.getReady)},
	}
	if a.o.Demo {
		closeToAgents(all)
	}
	return all
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
		access.WriteError(w, http.StatusServiceUnavailable, "still reading what existed at the start; ask again in a second")
	}
}

// getSessions tells of all sessions, or with recent=1 of those that the page shows: who asks
// again and again wants no list of all that ever was.
func (a *App) getSessions(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	recent, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("recent"), "false"))
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, "recent is neither 1 nor 0; leave it out for all sessions")
		return
	}
	answer := api.Sessions{Sessions: []api.Session{}, Demo: a.o.Demo}
	var views []fleet.View
	var policies []policy
	err = a.do(r.Context(), func(c *core) {
		if answer.CatchingUp = !c.caughtUp; recent {
			views, answer.Others = c.recent(now, a.o.SessionTTL, a.o.MaxSessions)
		} else {
			views = c.fleet.Views(now)
		}
		for i := range views {
			policies = append(policies, c.policy(&views[i]))
		}
	})
	if err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	for i, v := range views {
		answer.Sessions = append(answer.Sessions, policies[i].session(v))
	}
	answerJSON(w, http.StatusOK, answer)
}

func (a *App) getSession(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var s api.Session
	var found error
	err := a.do(r.Context(), func(c *core) {
		var v fleet.View
		if v, found = c.fleet.View(r.PathValue("id"), now); found == nil {
			s = c.session(v)
		}
	})
	if err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if named(w, found) {
		answerJSON(w, http.StatusOK, s)
	}
}

// answerJSON writes v as the whole answer.
func answerJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		access.WriteError(w, http.StatusInternalServerError, "the answer cannot be written as JSON; report this")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the peer has gone: nobody to tell
}
