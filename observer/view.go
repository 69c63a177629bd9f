package observer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"sm/alerts"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/observer/respond"
	"sm/observer/wire"
)

// Edits grows with each change that a page may show.
func (a *App) Edits() uint64 { return a.edits.Load() }

// List returns the sessions that a page lists. It returns no curve whose version is
// known, and reads the ends of transcripts for new ones, for a limited time.
func (a *App) List(
	ctx context.Context,
	now time.Time,
	known func(agent string) (version uint32, ok bool),
) (l wire.List, err error) {
	settings := a.settings.Load()
	for { // again with what has been read
		var unread []unread
		err := a.do(ctx, func(c *core) { l, unread = c.list(now, settings, known) })
		if err != nil {
			return l, err
		}
		var some bool
		l.Filled, some = a.fillAll(ctx, unread, now)
		if !some || time.Since(now) > fillAtOnce {
			break
		}
	}
	l.Head.Demo = a.o.Demo
	l.Projects = a.o.Watched()
	l.Done, l.Files = a.stats.FilesDone.Load(), a.stats.Files.Load()
	return l, nil
}

// Detail returns a session with all that belongs to it, or a Problem with its id.
func (a *App) Detail(
	ctx context.Context,
	id string,
	now time.Time,
) (d wire.Detail, err error) {
	var subagents []fleet.Subagent
	var depth int64
	look := func() error {
		return a.do(ctx, func(c *core) { d, subagents, depth = c.detail(id, now) })
	}
	if err := look(); err != nil {
		return d, err
	}
	if d.TranscriptPath != "" && depth < curve.DetailDepth {
		a.fill(ctx, unread{
			agent: alerts.AgentID(d.ID),
			path:  d.TranscriptPath,
		}, curve.DetailDepth)
		if err := look(); err != nil {
			return d, err
		}
	}
	d.Subagents.Latest = subagentsOf(subagents)
	return d, nil
}

// unread is an agent with a transcript whose end is not in its curve yet.
type unread struct {
	agent alerts.AgentID
	path  string
}

// fillAtOnce limits the time for reading the ends of transcripts; what is left
// comes with the next request.
const fillAtOnce = 300 * time.Millisecond

// fillAll reads the ends of transcripts for a limited time since began. all means
// that none is left, some that there were some.
func (a *App) fillAll(ctx context.Context, list []unread, began time.Time) (all, some bool) {
	for i, x := range list {
		if time.Since(began) > fillAtOnce || ctx.Err() != nil {
			return false, i > 0
		}
		a.fill(ctx, x, curve.ListDepth)
	}
	return true, len(list) > 0
}

// fill reads the end of a transcript into the curve of its agent, one at a time. A
// transcript that cannot be read is not tried again.
func (a *App) fill(ctx context.Context, x unread, depth int64) {
	select {
	case a.filling <- struct{}{}:
	case <-ctx.Done():
		return
	}
	earlier, err := curve.ReadEnd(x.path, a.o.Clients.FormatOf(x.path, nil), depth)
	<-a.filling
	if err != nil {
		a.log.Debug("no history to show", "err", err)
		earlier = &curve.Curve{}
	}
	// An error means that the request was cancelled.
	_ = a.do(ctx, func(c *core) { c.agents.curve(x.agent, time.Now()).Fill(earlier, depth) })
}

// list returns the recent sessions, and those whose transcripts are not in their
// curves yet.
func (c *core) list(
	now time.Time,
	s *Settings,
	known func(string) (uint32, bool),
) (l wire.List, left []unread) {
	views, others := c.recent(now, s.SessionTTL, s.MaxSessions, "")
	l.Head = c.head(now)
	l.Head.Others = others
	for i := range views {
		v := &views[i]
		h := c.agents.look(alerts.AgentID(v.Agent)).curve
		x := wire.Agent{Session: c.session(v), Version: h.Version()}
		if version, ok := known(v.Agent); !ok || version != x.Version {
			x.History = h.Shown()
		}
		if v.Path != "" && h.Depth() < curve.ListDepth {
			left = append(left, unread{agent: alerts.AgentID(v.Agent), path: v.Path})
		}
		l.Agents = append(l.Agents, x)
	}
	return l, left
}

// detail returns a session and its subagents. depth is how much of the transcript's
// end is in its curve.
func (c *core) detail(
	id string,
	now time.Time,
) (d wire.Detail, subagents []fleet.Subagent, depth int64) {
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
		return d, nil, 0
	}

	agent := alerts.AgentID(v.Agent)
	h := c.agents.look(agent).curve
	d.Session = c.session(&v)
	d.History = *h.Shown()
	d.Began = int64(h.Began())
	for _, m := range c.queue.Of(agent) {
		d.Messages = append(d.Messages, c.messageOf(m))
	}
	return d, c.fleet.Subagents(v.Agent), h.Depth()
}

// maxAskedAgent limits the id of an agent in the address of the page, in bytes.
const maxAskedAgent = 512

// pageQuery returns the query of an agent's page, "" without an id of a usable
// length.
func pageQuery(agent string) string {
	if agent == "" || len(agent) > maxAskedAgent {
		return ""
	}
	return "?session=" + url.QueryEscape(agent)
}

// getOpen turns a token into a cookie and shows the page: the one GET that changes something, for it uses up the token.
func (a *App) getOpen(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead { // a preview of the link must not use it up
		w.WriteHeader(http.StatusNoContent)
		return nil
	}

	cookie, ok := a.passes.Redeem(r.URL.Query().Get("token"), time.Now())
	if !ok {
		access.WriteRefusal(
			w,
			r,
			http.StatusForbidden,
			"this link was used already, or is older than a minute; run sm open again",
		)
		return nil
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Location", cookie.Path+pageQuery(r.URL.Query().Get("session")))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// postOpen gives an address that opens the page once, to our own user alone: it is asked on the socket.
func (a *App) postOpen(w http.ResponseWriter, _ *http.Request) error {
	address := pageAddress(tcpOf(a.Addrs()))
	if address == "" {
		return respond.Refuse(
			http.StatusConflict,
			"this observer listens on no TCP address, so no browser can reach it; set listen",
		)
	}
	u := url.URL{
		Scheme:   "http",
		Host:     address,
		Path:     "/open",
		RawQuery: url.Values{"token": {a.passes.Issue(time.Now())}}.Encode(),
	}
	return respond.JSON(w, http.StatusCreated, api.Page{
		URL:     u.String(),
		Seconds: int(access.TokenLife / time.Second),
	})
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
