package observer

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/wire"
)

// Edits returns a counter that grows with each change that a page may show.
func (a *App) Edits() uint64 { return a.edits.Load() }

// List returns the sessions that a page lists. It omits each curve whose
// version known returns, and reads the ends of transcripts for curves that are
// not complete, for at most fillAtOnce.
func (a *App) List(
	ctx context.Context,
	now time.Time,
	known func(agent string) (version uint32, ok bool),
) (l wire.List, err error) {
	l.Filled, err = a.filled(ctx, now, curve.ListDepth, func(c *core, left *unread) {
		views, others := c.recent(now, "")
		l.Head = c.head(now)
		l.Head.Others = others
		l.Agents = nil
		for i := range views {
			v := &views[i]
			h := left.curve(c, v)
			x := wire.Agent{Session: c.session(v), Version: h.Version}
			if version, ok := known(v.Agent.ID); !ok || version != x.Version {
				x.History = h.Shown()
			}
			l.Agents = append(l.Agents, x)
		}
	})
	l.Projects = a.o.Watched()
	l.Done = a.stats.FilesDone.Load()
	l.Files = a.stats.Files.Load()
	return l, err
}

// Detail returns a session with its curve, messages and subagents, or a Problem
// if id names no session.
func (a *App) Detail(
	ctx context.Context,
	id string,
	now time.Time,
) (d wire.Detail, err error) {
	var subagents []fleet.Subagent
	_, err = a.filled(ctx, now, curve.DetailDepth, func(c *core, left *unread) {
		d = wire.Detail{}
		v, err := c.fleet.View(id, now)
		switch {
		case errors.Is(err, fleet.ErrAmbiguous):
			d.Problem = "More than one agent is called so"
		case err != nil && !c.caughtUp:
			d.Problem = "Still catching up"
		case err != nil:
			d.Problem = "No such agent"
		}
		if err != nil {
			return
		}
		h := left.curve(c, &v)
		d.Session = c.session(&v)
		d.History = *h.Shown()
		d.Began = h.Began
		for _, m := range c.queue.Of(v.Agent.ID) {
			d.Messages = append(d.Messages, c.messageOf(m))
		}
		subagents = c.fleet.Subagents(v.Agent.ID)
	})
	d.Subagents.Latest = subagentsOf(subagents)
	return d, err
}

// unread has the paths of transcripts, by agent, whose ends are not in their
// curves yet.
type unread struct {
	depth int64
	paths map[string]string
}

// curve returns the curve of a session's agent as it is now, and adds the
// transcript to u if its end must still be read.
func (u *unread) curve(c *core, v *fleet.View) *curve.Curve {
	agent := v.Agent.ID
	h := cmp.Or(c.agents.look(agent).curve, &curve.Curve{})
	if v.Path != "" && h.Depth < u.depth {
		u.paths[agent] = v.Path
	}
	return h
}

// fillAtOnce limits the time for reading the ends of transcripts in one
// request; the next request reads the rest.
const fillAtOnce = 300 * time.Millisecond

// filled runs look in the loop, and again after it has read the ends of the
// transcripts that look found unread. It stops reading fillAtOnce after began.
// all reports whether no transcript is left unread.
func (a *App) filled(
	ctx context.Context,
	began time.Time,
	depth int64,
	look func(*core, *unread),
) (all bool, err error) {
	for {
		left := unread{depth, map[string]string{}}
		err := a.do(ctx, func(c *core) { look(c, &left) })
		all = len(left.paths) == 0
		if all || err != nil || time.Since(began) > fillAtOnce {
			return all, err
		}
		for agent, path := range left.paths {
			if time.Since(began) > fillAtOnce {
				break
			}
			a.fill(ctx, agent, path, depth)
		}
	}
}

// fill reads the end of a transcript into the curve of its agent. It reads one
// transcript at a time, and does not retry a transcript that cannot be read.
func (a *App) fill(ctx context.Context, agent string, path string, depth int64) {
	a.filling.Lock()
	earlier, err := curve.ReadEnd(path, a.o.Clients.FormatOf(path, nil), depth)
	a.filling.Unlock()
	if err != nil {
		a.log.Debug("no history to show", "err", err)
		earlier = &curve.Curve{}
	}
	// An error means that the request was cancelled.
	_ = a.do(ctx, func(c *core) { c.agents.curve(agent, time.Now()).Fill(earlier, depth) })
}

// getOpen exchanges a token for a cookie and redirects to the page. It is the
// only GET that changes something, as a token can be used once.
func (a *App) getOpen(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead { // a preview of the link must not use up the token
		w.WriteHeader(http.StatusNoContent)
		return nil
	}

	cookie, ok := a.passes.Redeem(r.URL.Query().Get("token"), time.Now())
	if !ok {
		return refuse(
			http.StatusForbidden,
			"this link was used already, or is older than a minute; run sm open again",
		)
	}
	http.SetCookie(w, cookie)
	to := cookie.Path
	if agent := r.URL.Query().Get("session"); agent != "" {
		to += "?session=" + url.QueryEscape(agent)
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// postOpen returns an address that opens the page once. Only our own user can
// request it, as the route is served on the socket alone.
func (a *App) postOpen(w http.ResponseWriter, _ *http.Request) error {
	if len(a.addrs) == 1 { // the socket's
		return refuse(
			http.StatusConflict,
			"this observer listens on no TCP address, so no browser can reach it; set listen",
		)
	}
	return writeJSON(w, http.StatusCreated, api.Page{
		URL:     "http://" + a.addrs[1].String() + "/open?token=" + a.passes.Issue(time.Now()),
		Seconds: int(access.TokenLife / time.Second),
	})
}
