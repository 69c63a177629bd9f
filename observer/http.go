package observer

import (
	"context"
	"io"
	"net/http"
	"strings"

	"sm/observer/access"
)

// routes lists the routes and who may use them over TCP. A line has the kind of
// the route, its method and its path. A demo has no real agents and refuses the
// routes whose line ends with "real".
func (a *App) routes() []access.Route {
	kinds := map[string]access.Route{
		"any":     {Tier: access.AnyLocal},
		"empty":   {NoBody: true},
		"events":  {Tier: access.SameUID, Page: true, Stream: true},
		"opens":   {Tier: access.SameUID, Opens: true},
		"own":     {Tier: access.SameUID},
		"page":    {Tier: access.SameUID, Page: true},
		"socket":  {},
		"stream":  {Stream: true},
		"webhook": {Tier: access.Token, Body: maxNotificationBytes},
	}
	var all []access.Route
	add := func(line string, h handler) {
		words := strings.Fields(line)
		r := kinds[words[0]]
		r.Method = words[1]
		r.Pattern = words[2]
		if a.o.Demo && len(words) > 3 {
			h = refuseReal
		}
		r.Handler = h
		all = append(all, r)
	}
	c := a.core
	read := func(f endpoint) handler { return inLoop(http.StatusOK, a.ask, f) }
	stored := func(code int, f endpoint) handler { return inLoop(code, a.update, f) }
	const ok, created = http.StatusOK, http.StatusCreated

	add("opens GET /open", a.getOpen)
	add("socket POST /open", a.postOpen)
	add("own GET /sessions", a.getSessions)
	add("own POST /sessions real", stored(created, c.postSession))
	add("own GET /sessions/{id}", a.getSession)
	add("socket GET /sessions/{id}/messages", read(c.getMessages))
	add("socket POST /sessions/{id}/messages", stored(http.StatusAccepted, c.postMessage))
	add("socket DELETE /sessions/{id}/messages/{message}", stored(ok, c.deleteMessage))
	add("socket GET /sessions/{id}/reminders", read(c.getReminders))
	add("socket POST /sessions/{id}/reminders", stored(created, c.postReminder))
	add("socket DELETE /sessions/{id}/reminders/{reminder}", stored(ok, c.deleteReminder))
	add("socket POST /sessions/{id}/reminders/reset", stored(ok, c.resetReminders))
	add("socket GET /reminders", read(c.getReminders))
	add("socket POST /sessions/{id}/handoff real", a.postHandoff)
	add("socket GET /handoffs", read(c.getHandoffs))
	add("socket DELETE /handoffs/{handoff} real", stored(ok, c.deleteHandoff))
	add("socket GET /documents", a.getDocuments)
	add("socket GET /documents/{channel}", a.getDocument)
	add("socket DELETE /documents/{channel} real", a.deleteDocuments)
	add("stream GET /runs/{id}/next real", a.getRun)
	add("socket GET /messages", read(c.getMessages))
	add("socket POST /hooks/claude", a.postHook)
	add("own POST /hooks/context-usage", a.postUsage)
	add("webhook POST /alerts/webhook real", stored(ok, c.postAlerts))
	add("empty POST /-/reload real", a.postReload)
	add("any GET /metrics", a.getMetrics)
	add("any GET /-/healthy", getHealthy)
	add("any GET /-/ready", a.getReady)
	add("page GET /{$}", a.web.Page)
	add("events GET /events", a.web.Events)
	return all
}

// An endpoint answers a request in the loop. agent is the agent in the path, ""
// for none. The gate has read the body.
type endpoint func(agent string, r *http.Request) (answer any, err error)

// inLoop runs an endpoint by App.ask, or by App.update if its changes must be
// stored before the answer.
func inLoop(
	code int,
	run func(context.Context, func(*core) error) error,
	f endpoint,
) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var answer any
		err := run(r.Context(), func(c *core) (err error) {
			var agent string
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
		return writeJSON(w, code, answer)
	}
}

// refuseReal refuses requests that concern real agents in a demo.
func refuseReal(http.ResponseWriter, *http.Request) error {
	return refuse(
		http.StatusForbidden,
		"this observer simulates agents and accepts no real ones; stop it and start 'sm observe'",
	)
}

// metricsRoutes serves /metrics and health checks to other machines.
func (a *App) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler(a.getMetrics))
	mux.Handle("GET /-/healthy", handler(getHealthy))
	mux.Handle("GET /-/ready", handler(a.getReady))
	return mux
}

func getHealthy(w http.ResponseWriter, _ *http.Request) error { return plain(w, "healthy") }

func (a *App) getReady(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-a.ready:
		return plain(w, "ready")
	default:
		return errCatchingUp
	}
}

func plain(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text+"\n") // an error means that the peer has disconnected
	return nil
}
