package observer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/pages"
)

// pageSource is what pages ask an App.
type pageSource struct{ *App }

func (p pageSource) Edits() uint64 { return p.edits.Load() }

func (p pageSource) List(ctx context.Context, now time.Time, known func(string) (uint32, bool)) (l pages.List, err error) {
	o := p.settings.Load()
	err = p.do(ctx, func(c *core) { l = c.list(now, o.SessionTTL, o.MaxSessions, o.Alerts.Thresholds, known) })
	l.Head.Done, l.Head.Files = p.stats.FilesDone.Load(), p.stats.Files.Load()
	return l, err
}

func (p pageSource) Detail(ctx context.Context, id string, now time.Time) (d pages.Detail, err error) {
	err = p.do(ctx, func(c *core) { d = c.detail(id, now, p.settings.Load().Alerts.Thresholds) })
	return d, err
}

func (p pageSource) Fill(ctx context.Context, agent string, past *curve.Curve, depth int64) error {
	return p.do(ctx, func(c *core) { c.agents.curve(alerts.AgentID(agent), time.Now()).Fill(past, depth) })
}

// recent gives those whose client runs, and then the rest of fleet.Recent, the newest
// activity first, at most so many; others counts those left out.
func (c *core) recent(now time.Time, ttl time.Duration, most int) (views []fleet.View, others int) {
	views, others = c.fleet.Recent(now, ttl)
	if most <= 0 || most > pages.MaxAgents {
		most = pages.MaxAgents
	}
	slices.SortFunc(views, func(a, b fleet.View) int {
		return cmp.Or(btoi(b.Live)-btoi(a.Live), b.Seen().Compare(a.Seen()), strings.Compare(a.Agent, b.Agent))
	})
	if len(views) > most {
		others += len(views) - most
		views = views[:most]
	}
	return views, others
}

// list looks at all who are shown; known are the versions of the histories that need not be brought.
func (c *core) list(now time.Time, ttl time.Duration, most int, t alerts.Thresholds, known func(string) (uint32, bool)) pages.List {
	views, others := c.recent(now, ttl, most)
	today := c.fleet.Counters().Today
	l := pages.List{Head: webpage.Head{CatchingUp: !c.caughtUp, Hidden: others, TodayTokens: int64(today.Tokens), TodayDollars: today.Cost.USD, Limits: pages.RateLimits(c.fleet.Limits(now))}}
	for i := range views {
		v := &views[i]
		p := c.policy(v)
		s := p.Session(*v)
		h := c.agents.look(alerts.AgentID(v.Agent)).curve
		x := pages.Agent{Row: pages.Row(v, &s, &p.View, t), Path: v.Path, Version: h.Version(), Depth: h.Depth()}
		if version, ok := known(v.Agent); !ok || version != x.Version {
			x.Past = h.Shown()
		}
		l.Head.Count(&x.Row)
		l.Agents = append(l.Agents, x)
	}
	return l
}

// detail is all about one agent but those under it.
func (c *core) detail(id string, now time.Time, t alerts.Thresholds) (d pages.Detail) {
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
		return d
	}
	agent := alerts.AgentID(v.Agent)
	past := c.agents.look(agent).curve
	p := c.policy(&v)
	s := p.Session(v)
	d.Path, d.Depth, d.History = v.Path, past.Depth(), *past.Shown()
	d.Row, d.Facts = pages.Row(&v, &s, &p.View, t), pages.Facts(&v, &s, &p.View, past)
	d.Messages, d.Commands = pages.Messages(c.queue.Of(agent), c.delivery.waitsFor), pages.Commands(&v)
	d.Subagents = c.fleet.Subagents(v.Agent)
	return d
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
