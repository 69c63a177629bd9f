package observer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/pages"
)

// server answers requests about an App.
type server struct{ *App }

// routes lists what is served, and to whom over TCP.
func (s *server) routes() []access.Route {
	get, post, del := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	in := &signals{s.App}
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
		{Pattern: "/documents", Methods: get, Handler: handler(s.documents.getDocuments)},
		{Pattern: "/documents/{channel}", Methods: get, Handler: handler(s.documents.getDocument)},
		{Pattern: "/documents/{channel}", Methods: del, Handler: handler(s.documents.deleteDocuments)},
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

// errCatchingUp answers a request that comes before the past has been read.
var errCatchingUp = errors.New("still reading what existed at the start; ask again in a second")

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

// getSessions tells of all sessions, or with recent=1 of those that the page shows: who asks again and again wants no list
// of all that ever was. With trend=1 each says how its context grew.
func (s *server) getSessions(w http.ResponseWriter, r *http.Request) error {
	recent, err := flagOf(r, "recent", "all sessions")
	if err != nil {
		return err
	}
	trend, err := flagOf(r, "trend", "none")
	if err != nil {
		return err
	}
	began := time.Now()
	for filled := false; ; filled = true {
		answer, all, err := s.sessions(r.Context(), began, recent, trend)
		if err != nil {
			return err
		}
		if trend && !filled {
			if _, some := s.hub.FillAll(r.Context(), all, began); some {
				continue
			}
		}
		return answerJSON(w, http.StatusOK, answer)
	}
}

// flagOf reads a parameter that is 1 or 0; without is what there is where it is left out.
func flagOf(r *http.Request, name, without string) (bool, error) {
	on, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get(name), "false"))
	if err != nil {
		return false, refuse(http.StatusBadRequest, name+" is neither 1 nor 0; leave it out for "+without)
	}
	return on, nil
}

// sessions are all sessions or the recent ones, and where the transcript of each lies.
func (s *server) sessions(ctx context.Context, now time.Time, recent, trend bool) (answer api.Sessions, all []pages.Agent, err error) {
	answer = api.Sessions{Sessions: []api.Session{}, Demo: s.o.Demo}
	var views []fleet.View
	var policies []policy
	var curves [][]int64
	err = s.do(ctx, func(c *core) {
		c.spent(now, &answer)
		if answer.CatchingUp = !c.caughtUp; recent {
			views, answer.Others = c.recent(now, s.settings.Load().SessionTTL, s.settings.Load().MaxSessions)
		} else {
			views = c.fleet.Views(now)
		}
		for i := range views {
			v := &views[i]
			policies = append(policies, c.policy(v))
			if !trend {
				continue
			}
			h := c.agents.look(alerts.AgentID(v.Agent)).curve
			curves = append(curves, h.Trend())
			all = append(all, pages.Agent{Row: webpage.Row{ID: v.Agent}, Path: v.Path, Depth: h.Depth()})
		}
	})
	for i, v := range views {
		x := policies[i].session(v)
		if trend {
			x.Trend = curve.Shares(curves[i], x.WindowTokens)
		}
		answer.Sessions = append(answer.Sessions, x)
	}
	return answer, all, err
}

func (s *server) getSession(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var answer api.Session
	err := s.ask(r.Context(), func(c *core) error {
		v, err := c.fleet.View(r.PathValue("id"), now)
		if err == nil {
			answer = c.session(v)
		}
		return err
	})
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, answer)
}
