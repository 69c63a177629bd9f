package observer

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/respond"
)

// routes lists what is served, and to whom over TCP.
func (a *App) routes() []access.Route {
	var all []access.Route
	add := func(method, pattern string, r access.Route, h respond.Handler) {
		r.Pattern = pattern
		r.Methods = []string{method}
		r.Handler = h
		all = append(all, r)
	}
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	socket := access.Route{}
	own := access.Route{Tier: access.SameUID}
	local := access.Route{Tier: access.AnyLocal}
	stream := access.Route{Stream: true}
	page := access.Route{Tier: access.SameUID, Page: true}
	events := access.Route{Tier: access.SameUID, Page: true, Stream: true}
	opens := access.Route{Tier: access.SameUID, Opens: true}
	webhook := access.Route{Tier: access.Token, Body: maxNotificationBytes}

	add(get, "/open", opens, a.getOpen)
	add(post, "/open", socket, a.postOpen)
	add(get, "/sessions", own, a.getSessions)
	add(post, "/sessions", own, a.postSession)
	add(get, "/sessions/{id}", own, a.getSession)
	add(get, "/sessions/{id}/messages", socket, a.getMessages)
	add(post, "/sessions/{id}/messages", socket, a.postMessage)
	add(del, "/sessions/{id}/messages/{message}", socket, a.deleteMessage)
	add(get, "/sessions/{id}/reminders", socket, a.getReminders)
	add(post, "/sessions/{id}/reminders", socket, a.postReminder)
	add(del, "/sessions/{id}/reminders/{reminder}", socket, a.deleteReminder)
	add(post, "/sessions/{id}/reminders/reset", socket, a.resetReminders)
	add(get, "/reminders", socket, a.getReminders)
	add(post, "/sessions/{id}/handoff", socket, a.postHandoff)
	add(get, "/handoffs", socket, a.getHandoffs)
	add(del, "/handoffs/{handoff}", socket, a.deleteHandoff)
	add(get, "/documents", socket, a.getDocuments)
	add(get, "/documents/{channel}", socket, a.getDocument)
	add(del, "/documents/{channel}", socket, a.deleteDocuments)
	add(get, "/runs/{id}/next", stream, a.getRun)
	add(get, "/messages", socket, a.getMessages)
	add(post, "/hooks/claude", socket, a.postHook)
	add(post, "/hooks/context-usage", own, a.postUsage)
	add(post, "/alerts/webhook", webhook, a.postAlerts)
	add(post, "/-/reload", access.Route{NoBody: true}, a.postReload)
	add(get, "/metrics", local, a.getMetrics)
	add(get, "/-/healthy", local, getHealthy)
	add(get, "/-/ready", local, a.getReady)
	if a.web != nil {
		add(get, "/{$}", page, a.web.Page)
		add(get, "/events", events, a.web.Events)
	}
	if a.o.Demo {
		closeToAgents(all)
	}
	return all
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
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ready\n")
	default:
		return respond.ErrCatchingUp
	}
	return nil
}

// closeToAgents disables the routes that take input from real agents: a demo
// observer can be read, and texts can be sent to its agents. Hooks get an empty
// answer, as without an observer, so that the client is not affected. Other
// requests are refused.
func closeToAgents(routes []access.Route) {
	for i, r := range routes {
		reads := !slices.ContainsFunc(
			r.Methods,
			func(m string) bool { return m != http.MethodGet },
		)
		switch {
		case r.Pattern == "/hooks/claude":
			routes[i].Handler = respond.Handler(func(w http.ResponseWriter, _ *http.Request) error {
				respond.Raw(w, nil)
				return nil
			})
		case r.Pattern == "/hooks/context-usage":
			routes[i].Handler = respond.Handler(func(w http.ResponseWriter, _ *http.Request) error {
				return respond.JSON(w, http.StatusOK, api.Usage{Status: "unknown_session"})
			})
		case r.Pattern == "/open":
		case reads && !strings.HasPrefix(r.Pattern, "/runs/"):
		case strings.HasPrefix(
			r.Pattern,
			"/sessions/{id}/messages",
		), strings.HasPrefix(
			r.Pattern,
			"/sessions/{id}/reminders",
		):
		default:
			routes[i].Handler = respond.Handler(func(http.ResponseWriter, *http.Request) error {
				return respond.Refuse(
					http.StatusForbidden,
					"this observer simulates agents and accepts no real ones; stop it and start 'sm observe'",
				)
			})
		}
	}
}
