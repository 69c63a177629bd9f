package observer

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/pages"
	"sm/observer/respond"
	"sm/observer/wire"
)

// policy is what engine, queue and rotations know of the agent of a view.
func (c *core) policy(v *fleet.View) (p wire.Policy) {
	if v.Left {
		return p
	}
	p.View, p.Found = c.engine.Agent(alerts.AgentID(v.Agent))
	if record, ok := c.rotations.Agent(alerts.AgentID(v.Agent)); ok {
		p.Last = record.Path
		p.Brake = c.rotations.Brake(record.Agent, v.SessionID, time.Now())
	}
	if r, ok := c.rotations.Open(alerts.AgentID(v.Agent)); ok {
		p.Handoff = r.State.String()
	}
	p.Hooks = c.delivery.hooksWork(alerts.AgentID(v.Agent))
	if p.Found || c.queue.HasWaiting(alerts.AgentID(v.Agent)) {
		for _, m := range c.queue.Of(alerts.AgentID(v.Agent)) {
			if m.State == outbox.Waiting || m.State == outbox.Offered {
				p.Queued++
			}
			if c.delivery.waitsFor(&m) != "" {
				p.Waiting++
			}
		}
	}
	return p
}

func (c *core) session(v fleet.View) api.Session {
	p := c.policy(&v)
	return p.Session(v)
}

// spent fills in what all sessions together used.
func (c *core) spent(now time.Time, s *api.Sessions) {
	counters := c.fleet.Counters()
	s.RateLimits, s.Today = wire.RateLimits(c.fleet.Limits(now), counters.Others, now), wire.Today(&counters.Today, c.fleet.Created())
}

// getSessions tells of all sessions, or with recent=1 of those that the page shows: who asks again and again wants no list
// of all that ever was. With client=codex
// it tells of that client's alone, with trend=1 each says how its context grew.
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
		answer, all, err := s.sessions(r.Context(), began, r.URL.Query().Get("client"), recent, trend)
		if err != nil {
			return err
		}
		if trend && !filled {
			if _, some := s.hub.FillAll(r.Context(), all, began); some {
				continue
			}
		}
		return respond.JSON(w, http.StatusOK, answer)
	}
}

// flagOf reads a parameter that is 1 or 0; without is what there is where it is left out.
func flagOf(r *http.Request, name, without string) (bool, error) {
	on, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get(name), "false"))
	if err != nil {
		return false, respond.Refuse(http.StatusBadRequest, name+" is neither 1 nor 0; leave it out for "+without)
	}
	return on, nil
}

// sessions are all sessions or the recent ones, and where the transcript of each lies.
func (s *server) sessions(ctx context.Context, now time.Time, client string, recent, trend bool) (answer api.Sessions, all []pages.Agent, err error) {
	answer = api.Sessions{Sessions: []api.Session{}, Demo: s.o.Demo}
	var views []fleet.View
	var policies []wire.Policy
	var curves [][]int64
	err = s.do(ctx, func(c *core) {
		c.spent(now, &answer)
		answer.NotWarned = c.caughtUp && !c.reachable(now)
		if answer.CatchingUp = !c.caughtUp; recent {
			views, answer.Others = c.recent(now, s.settings.Load().SessionTTL, s.settings.Load().MaxSessions, client)
		} else {
			views = slices.DeleteFunc(c.fleet.Views(now), func(v fleet.View) bool { return client != "" && v.Program != client })
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
		x := policies[i].Session(v)
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
	var latest []fleet.Subagent
	err := s.ask(r.Context(), func(c *core) error {
		v, err := c.fleet.View(r.PathValue("id"), now)
		if err == nil {
			answer, latest = c.session(v), c.fleet.Subagents(v.Agent)
		}
		return err
	})
	if err != nil {
		return err
	}
	answer.Subagents.Latest = pages.Subagents(latest)
	return respond.JSON(w, http.StatusOK, answer)
}

// recent gives those whose client runs, and then the rest of fleet.Recent, the newest
// activity first, at most so many; others counts those left out.
func (c *core) recent(now time.Time, ttl time.Duration, most int, client string) (views []fleet.View, others int) {
	views, others = c.fleet.Recent(now, ttl, client)
	if most <= 0 || most > pages.MaxAgents {
		most = pages.MaxAgents
	}
	slices.SortFunc(views, func(a, b fleet.View) int {
		return cmp.Or(btoi(b.Live)-btoi(a.Live), b.Last.Compare(a.Last), strings.Compare(a.Agent, b.Agent))
	})
	if len(views) > most {
		others += len(views) - most
		views = views[:most]
	}
	return views, others
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
