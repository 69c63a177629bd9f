package observer

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"sm/observer/api"
	"sm/observer/fleet"
)

// routes lists what is served, and to whom over TCP.
func (a *App) routes() []route {
	get, post, del := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	all := []route{
		{pattern: "/{$}", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getPage)},
		{pattern: "/events", methods: get, tier: tierSameUID, stream: true, handler: http.HandlerFunc(a.getEvents)},
		{pattern: "/sessions", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getSessions)},
		{pattern: "/sessions", methods: post, tier: tierSameUID, handler: http.HandlerFunc(a.postSession)},
		{pattern: "/sessions/{id}", methods: get, tier: tierSameUID, handler: http.HandlerFunc(a.getSession)},
		{pattern: "/sessions/{id}/messages", methods: get, handler: http.HandlerFunc(a.getMessages)},
		{pattern: "/sessions/{id}/messages", methods: post, handler: http.HandlerFunc(a.postMessage)},
		{pattern: "/sessions/{id}/messages/{message}", methods: del, handler: http.HandlerFunc(a.deleteMessage)},
		{pattern: "/sessions/{id}/reminders", methods: get, handler: http.HandlerFunc(a.getReminders)},
		{pattern: "/sessions/{id}/reminders", methods: post, handler: http.HandlerFunc(a.postReminder)},
		{pattern: "/sessions/{id}/reminders/{reminder}", methods: del, handler: http.HandlerFunc(a.deleteReminder)},
		{pattern: "/sessions/{id}/reminders/reset", methods: post, handler: http.HandlerFunc(a.resetReminders)},
		{pattern: "/reminders", methods: get, handler: http.HandlerFunc(a.getAllReminders)},
		{pattern: "/sessions/{id}/handoff", methods: post, handler: http.HandlerFunc(a.postHandoff)},
		{pattern: "/handoffs", methods: get, handler: http.HandlerFunc(a.getHandoffs)},
		{pattern: "/handoffs/{handoff}", methods: del, handler: http.HandlerFunc(a.deleteHandoff)},
		{pattern: "/documents", methods: get, handler: http.HandlerFunc(a.getDocuments)},
		{pattern: "/documents/{channel}", methods: get, handler: http.HandlerFunc(a.getDocument)},
		{pattern: "/documents/{channel}", methods: del, handler: http.HandlerFunc(a.deleteDocuments)},
		{pattern: "/runs/{id}/next", methods: get, stream: true, handler: http.HandlerFunc(a.getRun)},
		{pattern: "/messages", methods: get, handler: http.HandlerFunc(a.getAllMessages)},
		{pattern: "/hooks/claude", methods: post, handler: http.HandlerFunc(a.postHook)},
		{pattern: "/hooks/context-usage", methods: post, tier: tierSameUID, handler: http.HandlerFunc(a.postUsage)},
		{pattern: "/alerts/webhook", methods: post, tier: tierToken, body: maxNotificationBytes, handler: http.HandlerFunc(a.postAlerts)},
		{pattern: "/metrics", methods: get, tier: tierAnyLocal, handler: a.metrics},
		{pattern: "/-/healthy", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getHealthy)},
		{pattern: "/-/ready", methods: get, tier: tierAnyLocal, handler: http.HandlerFunc(a.getReady)},
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
		answerError(w, http.StatusServiceUnavailable, "still reading what existed at the start; ask again in a second")
	}
}

// getSessions tells of all sessions, or with recent=1 of those that the page shows: who asks
// again and again wants no list of all that ever was.
func (a *App) getSessions(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	recent, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("recent"), "false"))
	if err != nil {
		answerError(w, http.StatusBadRequest, "recent is neither 1 nor 0; leave it out for all sessions")
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
		answerError(w, http.StatusServiceUnavailable, err.Error())
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
		answerError(w, http.StatusServiceUnavailable, err.Error())
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
		answerError(w, http.StatusInternalServerError, "the answer cannot be written as JSON; report this")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the peer has gone: nobody to tell
}
