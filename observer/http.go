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
func (s *server) routes() []access.Route {
	get, post, del := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	in, docs := &signals{s.App}, documentRoutes{s.documents}
	all := []access.Route{
		{Pattern: "/open", Methods: get, Tier: access.SameUID, Opens: true, Handler: respond.Handler(s.getOpen)},
		{Pattern: "/open", Methods: post, Handler: respond.Handler(s.postOpen)},
		{Pattern: "/sessions", Methods: get, Tier: access.SameUID, Handler: respond.Handler(s.getSessions)},
		{Pattern: "/sessions", Methods: post, Tier: access.SameUID, Handler: respond.Handler(in.postSession)},
		{Pattern: "/sessions/{id}", Methods: get, Tier: access.SameUID, Handler: respond.Handler(s.getSession)},
		{Pattern: "/sessions/{id}/messages", Methods: get, Handler: respond.Handler(s.getMessages)},
		{Pattern: "/sessions/{id}/messages", Methods: post, Handler: respond.Handler(s.postMessage)},
		{Pattern: "/sessions/{id}/messages/{message}", Methods: del, Handler: respond.Handler(s.deleteMessage)},
		{Pattern: "/sessions/{id}/reminders", Methods: get, Handler: respond.Handler(s.getReminders)},
		{Pattern: "/sessions/{id}/reminders", Methods: post, Handler: respond.Handler(s.postReminder)},
		{Pattern: "/sessions/{id}/reminders/{reminder}", Methods: del, Handler: respond.Handler(s.deleteReminder)},
		{Pattern: "/sessions/{id}/reminders/reset", Methods: post, Handler: respond.Handler(s.resetReminders)},
		{Pattern: "/reminders", Methods: get, Handler: respond.Handler(s.getAllReminders)},
		{Pattern: "/sessions/{id}/handoff", Methods: post, Handler: respond.Handler(s.postHandoff)},
		{Pattern: "/handoffs", Methods: get, Handler: respond.Handler(s.getHandoffs)},
		{Pattern: "/handoffs/{handoff}", Methods: del, Handler: respond.Handler(s.deleteHandoff)},
		{Pattern: "/documents", Methods: get, Handler: respond.Handler(docs.getDocuments)},
		{Pattern: "/documents/{channel}", Methods: get, Handler: respond.Handler(docs.getDocument)},
		{Pattern: "/documents/{channel}", Methods: del, Handler: respond.Handler(docs.deleteDocuments)},
		{Pattern: "/runs/{id}/next", Methods: get, Stream: true, Handler: respond.Handler(s.getRun)},
		{Pattern: "/messages", Methods: get, Handler: respond.Handler(s.getAllMessages)},
		{Pattern: "/hooks/claude", Methods: post, Handler: respond.Handler(in.postHook)},
		{Pattern: "/hooks/context-usage", Methods: post, Tier: access.SameUID, Handler: respond.Handler(in.postUsage)},
		{Pattern: "/alerts/webhook", Methods: post, Tier: access.Token, Body: maxNotificationBytes, Handler: respond.Handler(s.postAlerts)},
		{Pattern: "/-/reload", Methods: post, NoBody: true, Handler: respond.Handler(s.postReload)},
		{Pattern: "/metrics", Methods: get, Tier: access.AnyLocal, Handler: respond.Handler(s.getMetrics)},
		{Pattern: "/-/healthy", Methods: get, Tier: access.AnyLocal, Handler: respond.Handler(getHealthy)},
		{Pattern: "/-/ready", Methods: get, Tier: access.AnyLocal, Handler: respond.Handler(s.getReady)},
	}
	if s.web != nil {
		all = append(all,
			access.Route{Pattern: "/{$}", Methods: get, Tier: access.SameUID, Page: true, Handler: respond.Handler(s.web.Page)},
			access.Route{Pattern: "/events", Methods: get, Tier: access.SameUID, Page: true, Stream: true, Handler: respond.Handler(s.web.Events)},
		)
	}
	if s.o.Demo {
		closeToAgents(all)
	}
	return all
}

// metricsRoutes lists what is served to other machines: /metrics and health alone.
func (s *server) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", respond.Handler(s.getMetrics))
	mux.Handle("GET /-/healthy", respond.Handler(getHealthy))
	mux.Handle("GET /-/ready", respond.Handler(s.getReady))
	return mux
}

func getHealthy(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n") // an error means that the peer has gone
	return nil
}

func (s *server) getReady(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-s.ready:
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
		reads := !slices.ContainsFunc(r.Methods, func(m string) bool { return m != http.MethodGet })
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
		case strings.HasPrefix(r.Pattern, "/sessions/{id}/messages"), strings.HasPrefix(r.Pattern, "/sessions/{id}/reminders"):
		default:
			routes[i].Handler = respond.Handler(func(http.ResponseWriter, *http.Request) error {
				return respond.Refuse(http.StatusForbidden, "this observer simulates agents and accepts no real ones; stop it and start 'sm observe'")
			})
		}
	}
}
