package observer

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"sm/observer/access"
	"sm/observer/api"
)

// routes lists what is served, and to whom over TCP.
func (s *server) routes() []access.Route {
	get, post, del := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	in, docs := &signals{s.App}, documentRoutes{s.documents}
	all := []access.Route{
		{Pattern: "/{$}", Methods: get, Tier: access.SameUID, Page: true, Handler: handler(s.hub.Page)},
		{Pattern: "/events", Methods: get, Tier: access.SameUID, Page: true, Stream: true, Handler: handler(s.hub.Events)},
		{Pattern: "/open", Methods: get, Tier: access.SameUID, Opens: true, Handler: handler(s.getOpen)},
		{Pattern: "/open", Methods: post, Handler: handler(s.postOpen)},
		{Pattern: "/sessions", Methods: get, Tier: access.SameUID, Handler: handler(s.getSessions)},
		{Pattern: "/sessions", Methods: post, Tier: access.SameUID, Handler: handler(in.postSession)},
		{Pattern: "/sessions/{id}", Methods: get, Tier: access.SameUID, Handler: handler(s.getSession)},
		{Pattern: "/sessions/{id}/messages", Methods: get, Handler: handler(s.getMessages)},
		{Pattern: "/sessions/{id}/messages", Methods: post, Handler: handler(s.postMessage)},
		{Pattern: "/sessions/{id}/messages/{message}", Methods: del, Handler: handler(s.deleteMessage)},
		{Pattern: "/sessions/{id}/reminders", Methods: get, Handler: handler(s.getReminders)},
		{Pattern: "/sessions/{id}/reminders", Methods: post, Handler: handler(s.postReminder)},
		{Pattern: "/sessions/{id}/reminders/{reminder}", Methods: del, Handler: handler(s.deleteReminder)},
		{Pattern: "/sessions/{id}/reminders/reset", Methods: post, Handler: handler(s.resetReminders)},
		{Pattern: "/reminders", Methods: get, Handler: handler(s.getAllReminders)},
		{Pattern: "/sessions/{id}/handoff", Methods: post, Handler: handler(s.postHandoff)},
		{Pattern: "/handoffs", Methods: get, Handler: handler(s.getHandoffs)},
		{Pattern: "/handoffs/{handoff}", Methods: del, Handler: handler(s.deleteHandoff)},
		{Pattern: "/documents", Methods: get, Handler: handler(docs.getDocuments)},
		{Pattern: "/documents/{channel}", Methods: get, Handler: handler(docs.getDocument)},
		{Pattern: "/documents/{channel}", Methods: del, Handler: handler(docs.deleteDocuments)},
		{Pattern: "/runs/{id}/next", Methods: get, Stream: true, Handler: handler(s.getRun)},
		{Pattern: "/messages", Methods: get, Handler: handler(s.getAllMessages)},
		{Pattern: "/hooks/claude", Methods: post, Handler: handler(in.postHook)},
		{Pattern: "/hooks/context-usage", Methods: post, Tier: access.SameUID, Handler: handler(in.postUsage)},
		{Pattern: "/alerts/webhook", Methods: post, Tier: access.Token, Body: maxNotificationBytes, Handler: handler(s.postAlerts)},
		{Pattern: "/-/reload", Methods: post, Handler: handler(s.postReload)},
		{Pattern: "/metrics", Methods: get, Tier: access.AnyLocal, Handler: handler(s.getMetrics)},
		{Pattern: "/-/healthy", Methods: get, Tier: access.AnyLocal, Handler: handler(getHealthy)},
		{Pattern: "/-/ready", Methods: get, Tier: access.AnyLocal, Handler: handler(s.getReady)},
	}
	if s.o.Demo {
		closeToAgents(all)
	}
	return all
}

// metricsRoutes lists what is served to other machines: /metrics and health alone.
func (s *server) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler(s.getMetrics))
	mux.Handle("GET /-/healthy", handler(getHealthy))
	mux.Handle("GET /-/ready", handler(s.getReady))
	return mux
}

func getHealthy(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n") // the peer has gone: nobody to tell
	return nil
}

func (s *server) getReady(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-s.ready:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ready\n")
	default:
		return errCatchingUp
	}
	return nil
}

// closeToAgents takes the doors by which real agents come in off an observer of made-up
// ones: what is left can be read, and texts can be sent to the agents that there are.
// Hooks are answered with nothing, as by an observer that is not there: the client must
// not notice. Everybody else is told.
func closeToAgents(routes []access.Route) {
	for i, r := range routes {
		reads := !slices.ContainsFunc(r.Methods, func(m string) bool { return m != http.MethodGet })
		switch {
		case r.Pattern == "/hooks/claude":
			routes[i].Handler = handler(func(w http.ResponseWriter, _ *http.Request) error {
				answerRaw(w, nil)
				return nil
			})
		case r.Pattern == "/hooks/context-usage":
			routes[i].Handler = handler(func(w http.ResponseWriter, _ *http.Request) error {
				return answerJSON(w, http.StatusOK, api.Usage{Status: "unknown_session"})
			})
		case r.Pattern == "/open":
		case reads && !strings.HasPrefix(r.Pattern, "/runs/"):
		case strings.HasPrefix(r.Pattern, "/sessions/{id}/messages"), strings.HasPrefix(r.Pattern, "/sessions/{id}/reminders"):
		default:
			routes[i].Handler = handler(func(http.ResponseWriter, *http.Request) error {
				return refuse(http.StatusForbidden, "this observer shows made-up agents and takes no real ones; stop it and start 'sm observe'")
			})
		}
	}
}
