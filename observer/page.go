package observer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/pages"
	"sm/observer/respond"
	"sm/observer/wire"
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

func (p pageSource) Fill(ctx context.Context, agent string, earlier *curve.Curve, depth int64) error {
	return p.do(ctx, func(c *core) { c.agents.curve(alerts.AgentID(agent), time.Now()).Fill(earlier, depth) })
}

// list looks at all who are shown; known are the versions of the histories that need not be brought.
func (c *core) list(now time.Time, ttl time.Duration, most int, t alerts.Thresholds, known func(string) (uint32, bool)) pages.List {
	views, others := c.recent(now, ttl, most, "")
	counters := c.fleet.Counters()
	today, since := wire.Today(&counters.Today, c.fleet.Created()), ""
	if today.CostSince != nil {
		since = today.CostSince.Local().Format("15:04")
	}
	l := pages.List{Head: webpage.Head{CatchingUp: !c.caughtUp, Hidden: others, TodayTokens: int64(today.Tokens), TodayDollars: counters.Today.Cost.USD, DollarsSince: since, Limits: pages.RateLimits(wire.RateLimits(c.fleet.Limits(now), counters.Others, now))}}
	l.Head.NotWarned = c.caughtUp && !c.reachable(now)
	for i := range views {
		v := &views[i]
		p := c.policy(v)
		s := p.Session(*v)
		h := c.agents.look(alerts.AgentID(v.Agent)).curve
		x := pages.Agent{Row: pages.Row(v, &s, &p.View, t), Path: v.Path, Version: h.Version(), Depth: h.Depth()}
		if version, ok := known(v.Agent); !ok || version != x.Version {
			x.History = h.Shown()
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
	history := c.agents.look(agent).curve
	p := c.policy(&v)
	s := p.Session(v)
	d.Path, d.Depth, d.History = v.Path, history.Depth(), *history.Shown()
	d.Row, d.Facts = pages.Row(&v, &s, &p.View, t), pages.Facts(&v, &s, &p.View, history)
	d.Messages, d.Commands = pages.Messages(c.queue.Of(agent), c.delivery.waitsFor), pages.Commands(&v)
	d.Subagents = c.fleet.Subagents(v.Agent)
	return d
}

// getOpen turns a token into a cookie and shows the page: the one GET that changes something, for it uses up the token.
func (s *server) getOpen(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead { // a preview of the link must not use it up
		w.WriteHeader(http.StatusNoContent)
		return nil
	}

	cookie, ok := s.passes.Redeem(r.URL.Query().Get("token"), time.Now())
	if !ok {
		access.WriteRefusal(w, r, http.StatusForbidden, "this link was used already, or is older than a minute; run sm open again")
		return nil
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Location", cookie.Path+webpage.Address(r.URL.Query().Get("session")))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// postOpen gives an address that opens the page once, to our own user alone: it is asked on the socket.
func (s *server) postOpen(w http.ResponseWriter, _ *http.Request) error {
	address := pageAddress(tcpOf(s.Addrs()))
	if address == "" {
		return respond.Refuse(http.StatusConflict, "this observer listens on no TCP address, so no browser can reach it; set listen")
	}
	u := url.URL{Scheme: "http", Host: address, Path: "/open", RawQuery: url.Values{"token": {s.passes.Issue(time.Now())}}.Encode()}
	return respond.JSON(w, http.StatusCreated, api.Page{URL: u.String(), Seconds: int(access.TokenLife / time.Second)})
}

// pageAddress returns the address of the page for a browser of this machine, ""
// for none: the first listening address, by its loopback name if it is a
// wildcard.
func pageAddress(addrs []string) string {
	for _, address := range addrs {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		return net.JoinHostPort(host, port)
	}
	return ""
}
