package observer

import (
	"context"
	"io"
	"net/http"
	"strings"

	"sm/alerts"
	"sm/observer/access"
	"sm/observer/respond"
)

// routes lists what is served, and to whom over TCP.
func (a *App) routes() []access.Route {
	var all []access.Route
	add := func(pattern string, r access.Route, h respond.Handler) {
		method, path, _ := strings.Cut(pattern, " ")
		r.Pattern = path
		r.Methods = []string{method}
		r.Handler = h
		all = append(all, r)
	}
	c := a.core
	read := func(f endpoint) respond.Handler { return handler(http.StatusOK, a.ask, f) }
	stored := func(code int, f endpoint) respond.Handler { return handler(code, a.update, f) }
	const ok, created = http.StatusOK, http.StatusCreated
	socket := access.Route{}
	own := access.Route{Tier: access.SameUID}
	local := access.Route{Tier: access.AnyLocal}
	stream := access.Route{Stream: true}
	page := access.Route{Tier: access.SameUID, Page: true}
	events := access.Route{Tier: access.SameUID, Page: true, Stream: true}
	opens := access.Route{Tier: access.SameUID, Opens: true}
	webhook := access.Route{Tier: access.Token, Body: maxNotificationBytes}

	const messages, reminders = "/sessions/{id}/messages", "/sessions/{id}/reminders"
	add("GET /open", opens, a.getOpen)
	add("POST /open", socket, a.postOpen)
	add("GET /sessions", own, a.getSessions)
	add("POST /sessions", own, a.real(stored(created, c.postSession)))
	add("GET /sessions/{id}", own, a.getSession)
	add("GET "+messages, socket, read(c.getMessages))
	add("POST "+messages, socket, stored(http.StatusAccepted, c.postMessage))
	add("DELETE "+messages+"/{message}", socket, stored(ok, c.deleteMessage))
	add("GET "+reminders, socket, read(c.getReminders))
	add("POST "+reminders, socket, stored(created, c.postReminder))
	add("DELETE "+reminders+"/{reminder}", socket, stored(ok, c.deleteReminder))
	add("POST "+reminders+"/reset", socket, stored(ok, c.resetReminders))
	add("GET /reminders", socket, read(c.getReminders))
	add("POST /sessions/{id}/handoff", socket, a.real(a.postHandoff))
	add("GET /handoffs", socket, read(c.getHandoffs))
	add("DELETE /handoffs/{handoff}", socket, a.real(stored(ok, c.deleteHandoff)))
	add("GET /documents", socket, a.getDocuments)
	add("GET /documents/{channel}", socket, a.getDocument)
	add("DELETE /documents/{channel}", socket, a.real(a.deleteDocuments))
	add("GET /runs/{id}/next", stream, a.real(a.getRun))
	add("GET /messages", socket, read(c.getMessages))
	add("POST /hooks/claude", socket, a.postHook)
	add("POST /hooks/context-usage", own, a.postUsage)
	add("POST /alerts/webhook", webhook, a.real(stored(ok, c.postAlerts)))
	add("POST /-/reload", access.Route{NoBody: true}, a.real(a.postReload))
	add("GET /metrics", local, a.getMetrics)
	add("GET /-/healthy", local, getHealthy)
	add("GET /-/ready", local, a.getReady)
	add("GET /{$}", page, a.web.Page)
	add("GET /events", events, a.web.Events)
	return all
}

// An endpoint answers a request in the loop; agent is the one that the path names, ""
// for none. The gate has read the body.
type endpoint func(agent alerts.AgentID, r *http.Request) (answer any, err error)

// handler runs an endpoint by App.ask, or by App.update so that its changes are
// stored before they are acknowledged.
func handler(
	code int,
	run func(context.Context, func(*core) error) error,
	f endpoint,
) respond.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var answer any
		err := run(r.Context(), func(c *core) (err error) {
			var agent alerts.AgentID
			if id := r.PathValue("id"); id != "" {
				if agent, err = c.fleet.Agent(id, false); err != nil {
					return err
				}
			}
			answer, err = f(agent, r)
			return err
		})
		if err != nil {
			return err
		}
		return respond.JSON(w, code, answer)
	}
}

// real refuses requests of real agents in a demo, whose agents can be read and get
// texts.
func (a *App) real(h respond.Handler) respond.Handler {
	if !a.o.Demo {
		return h
	}
	return func(http.ResponseWriter, *http.Request) error {
		return respond.Refuse(
			http.StatusForbidden,
			"this observer simulates agents and accepts no real ones; stop it and start 'sm observe'",
		)
	}
}

// metricsRoutes lists what is served to other machines: /metrics and health alone.
func (a *App) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", respond.Handler(a.getMetrics))
	mux.Handle("GET /-/healthy", respond.Handler(getHealthy))
	mux.Handle("GET /-/ready", respond.Handler(a.getReady))
	return mux
}

func getHealthy(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n") // an error means that the peer has gone
	return nil
}

func (a *App) getReady(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-a.ready:
	default:
		return respond.ErrCatchingUp
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ready\n")
	return nil
}
