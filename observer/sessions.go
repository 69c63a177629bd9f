package observer

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/projects"
	"sm/observer/wire"
)

// session returns a session for the API, with the state that engine, queue and
// rotations have of its agent.
func (c *core) session(v *fleet.View) api.Session {
	s := wire.Session(*v)
	agent := v.Agent.ID
	p := c.engine.Agent(agent)
	thresholds := c.settings.Alerts.Thresholds
	if v.Left {
		s.WarningTokens, s.CriticalTokens = thresholds.Limits(v.Window, 0)
		return s
	}
	s.WarningTokens, s.CriticalTokens = thresholds.Limits(v.Window, p.Threshold)
	if p.Cycle > 0 {
		wire.AddPolicy(&s, v, &p)
	}
	s.Brake = c.rotations.Brake(agent, v.SessionID, time.Now())
	if record := c.rotations.Agent(agent); record.Path != "" {
		s.LastHandoff = &record.Path
	}
	if r := c.rotations.Open(agent); r.ID != "" {
		s.Handoff = r.State.String()
	}
	s.HooksSeen = c.hooksWork(agent)
	s.Reachable = c.reachable(agent)
	if p.Cycle > 0 || c.queue.HasWaiting(agent) {
		for _, m := range c.queue.Of(agent) {
			if !m.State.Ended() {
				s.Queued++
			}
			if c.waitsFor(&m) != "" {
				s.WaitForHooks++
			}
		}
	}
	return s
}

// head returns the part of an answer that all sessions share.
func (c *core) head(now time.Time) api.Sessions {
	counters := c.fleet.Counters()
	today := api.Today{Tokens: counters.Today.Tokens}
	if cost := counters.Today.Cost; cost.Known {
		today.CostUSD = &cost.USD
		created := c.fleet.Created()
		// The clients of a demo report all of their costs.
		if created.After(counters.Today.Begins.Time()) && !c.app.o.Demo {
			today.CostSince = &created
		}
	}
	today.EstimatedUSD, today.Unpriced = c.fleet.EstimatedToday(now)
	return api.Sessions{
		CatchingUp: !c.caughtUp,
		RateLimits: wire.RateLimits(c.fleet.Limits(now), counters.Others, now),
		Today:      today,
		NotWarned:  c.caughtUp && !c.reachable(""),
		Demo:       c.app.o.Demo,
	}
}

// getSessions returns all sessions, or with recent=1 only those that the page
// shows. client=codex restricts them to one client; trend=1 adds the recent
// context sizes of each.
func (a *App) getSessions(w http.ResponseWriter, r *http.Request) error {
	recent, err := flagOf(r, "recent", "all sessions")
	if err != nil {
		return err
	}
	trend, err := flagOf(r, "trend", "none")
	if err != nil {
		return err
	}
	client := r.URL.Query().Get("client")
	now := time.Now()
	var head api.Sessions
	var views []fleet.View
	err = a.do(r.Context(), func(c *core) {
		head = c.head(now)
		head.Sessions = []api.Session{}
		if recent {
			views, head.Others = c.recent(now, client)
			return
		}
		for v := range c.fleet.All(now) {
			if client == "" || v.Program == client {
				views = append(views, v)
			}
		}
	})
	if err != nil {
		return err
	}
	return writeStream(w, &head, func(yield func(any, error) bool) {
		for part := range slices.Chunk(views, sessionsAtOnce) {
			var sessions []api.Session
			_, err := a.filled(r.Context(), now, curve.ListDepth, func(c *core, left *unread) {
				sessions = nil
				for i := range part {
					x := c.session(&part[i])
					if trend {
						x.Trend = left.curve(c, &part[i]).Trend(x.WindowTokens)
					}
					sessions = append(sessions, x)
				}
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range sessions {
				if !yield(&sessions[i], nil) {
					return
				}
			}
		}
	})
}

// sessionsAtOnce is how many sessions of an answer are computed in one call of
// the loop.
const sessionsAtOnce = 256

// flagOf parses a parameter that is 1 or 0, and false without it. without
// describes the answer without the parameter, for the error text.
func flagOf(r *http.Request, name, without string) (bool, error) {
	on, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get(name), "false"))
	if err != nil {
		return false, refuse(
			http.StatusBadRequest,
			name+" is neither 1 nor 0; leave it out for "+without,
		)
	}
	return on, nil
}

func (a *App) getSession(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var answer api.Session
	var latest []fleet.Subagent
	err := a.ask(r.Context(), func(c *core) error {
		v, err := c.fleet.View(r.PathValue("id"), now)
		if err == nil {
			answer = c.session(&v)
			latest = c.fleet.Subagents(v.Agent.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	answer.Subagents.Latest = subagentsOf(latest)
	return writeJSON(w, http.StatusOK, answer)
}

// recent returns the sessions of fleet.Recent up to a limit: live sessions
// first, then by newest activity. others counts the rest.
func (c *core) recent(now time.Time, client string) (views []fleet.View, others int) {
	views, others = c.fleet.Recent(now, c.settings.SessionTTL, client)
	most := c.settings.MaxSessions
	if most <= 0 || most > api.MaxListed {
		most = api.MaxListed
	}
	slices.SortFunc(views, func(a, b fleet.View) int {
		if a.Live != b.Live {
			if a.Live {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Last, a.Last), strings.Compare(a.Agent.ID, b.Agent.ID))
	})
	if len(views) > most {
		others += len(views) - most
		views = views[:most]
	}
	return views, others
}

// project is the working directory of a session with the name of its project.
type project struct{ dir, name string }

// project returns the name of a working directory's project by the path alone.
// Once catch-up is over, the disk is read for a better name.
func (c *core) project(dir string) string {
	c.unnamed = append(c.unnamed, dir)
	return fleet.ProjectOf(dir)
}

// nameNext starts reading the disk for the name of the next project. The loop
// does not wait for the result, not even when it ends, as a disk may not
// answer. One directory is read at a time.
func (c *core) nameNext() {
	if c.naming || len(c.unnamed) == 0 {
		return
	}
	dir := c.unnamed[0]
	c.unnamed = c.unnamed[1:]
	c.naming = true
	go func() { c.app.named <- project{dir, projects.Name(dir)} }() // the channel has room for it
}
