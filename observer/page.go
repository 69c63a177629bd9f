package observer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/curve"
	"sm/observer/fleet"
)

const (
	// maxPage bounds the agents that the page and sm top show, whatever metrics.max_sessions says.
	maxPage = 5000
	// pastKept and maxPast bound of how many agents the past is remembered, and for how
	// long after the last news of it.
	pastKept = 6 * time.Hour
	maxPast  = maxPage
	// lookWithin bounds the wait for the loop.
	lookWithin = 5 * time.Second
)

// getPage writes the whole page as it is now.
func (h *hub) getPage(w http.ResponseWriter, r *http.Request) error {
	header := w.Header()
	header.Set("Content-Security-Policy", h.page.Policy())
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	shot, err := h.look(r.Context())
	if err != nil {
		return statusError{http.StatusServiceUnavailable, err}
	}
	v := webpage.View{Build: h.app.o.Version, Mark: shot.mark(), Head: shot.head}
	first := shot.rows
	if len(first) > webpage.First {
		v.Mark, first = "", first[:webpage.First] // the script asks for all
	}
	for _, row := range first {
		html, err := row.html()
		if err != nil {
			return h.undrawn(err)
		}
		v.Rows = append(v.Rows, webpage.Line{HTML: html, Data: row.data})
	}
	if id := r.URL.Query().Get("session"); id != "" {
		if v.Detail, err = h.detail(r.Context(), id); err != nil {
			return statusError{http.StatusServiceUnavailable, err}
		}
	}
	var b bytes.Buffer
	if err := h.page.Write(&b, &v); err != nil {
		return h.undrawn(err)
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the peer has gone: nobody to tell
	return nil
}

// undrawn is the answer where the page cannot be drawn.
func (h *hub) undrawn(err error) error {
	h.app.log.Error("cannot draw the page", "err", err)
	return refuse(http.StatusInternalServerError, "the page cannot be drawn; see the log")
}

// sight is what the loop tells of all agents that are shown.
type sight struct {
	head  webpage.Head
	seats []seat
}

// seat is one agent; past is nil for one whose history is of the version that is known.
type seat struct {
	row     webpage.Row
	path    string
	depth   int64
	version uint32
	past    *webpage.History
}

// recent gives those whose client runs, and then the rest of fleet.Recent, the newest
// activity first, at most so many; others counts those left out.
func (c *core) recent(now time.Time, ttl time.Duration, most int) (views []fleet.View, others int) {
	views, others = c.fleet.Recent(now, ttl)
	if most <= 0 || most > maxPage {
		most = maxPage
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

// sight looks at all who are shown; known are the versions of the histories that need
// not be told.
func (c *core) sight(now time.Time, ttl time.Duration, most int, t alerts.Thresholds, known map[string]*drawn) sight {
	views, others := c.recent(now, ttl, most)
	today := c.fleet.Counters().Today
	s := sight{head: webpage.Head{CatchingUp: !c.caughtUp, Hidden: others, TodayTokens: int64(today.Tokens), TodayDollars: today.Cost.USD}}
	for i := range views {
		v := &views[i]
		x := seat{row: c.row(v, t), path: v.Path}
		h := c.agents.look(alerts.AgentID(v.Agent)).curve
		x.version, x.depth = h.Version(), h.Depth()
		if d := known[v.Agent]; d == nil || d.version != h.Version() {
			x.past = h.Shown()
		}
		s.head.Count(&x.row)
		s.seats = append(s.seats, x)
	}
	return s
}

// row is an agent as the page takes it.
func (c *core) row(v *fleet.View, t alerts.Thresholds) webpage.Row {
	p := c.policy(v)
	s := p.session(*v)
	r := webpage.Row{
		ID: s.ID, Name: cmp.Or(s.Name, s.Label, s.SessionID, s.ID), Title: cmp.Or(s.Name, s.Title), Project: s.Project, Model: s.Model, Parent: s.ParentID,
		Pressure: s.PressureLevel, Ratio: p.Ratio, Source: s.ThresholdSource,
		Waiting: v.Client.Waiting, Level: s.Level, Estimate: s.ContextSource == "estimate", Window: s.WindowTokens,
		Threshold: p.Threshold, Replies: webpage.Range(p.Forecast.Replies), Turns: webpage.Range(p.Forecast.Turns), Work: webpage.Range(p.Forecast.Active),
		Compactions: v.Compactions, State: s.State, Compacting: s.IsCompacting, Storming: p.Storming, Silenced: !s.Enabled,
		Check: s.CrossCheck, Drift: v.Drift, Seen: int64(curve.Seconds(lastRecord(v))),
	}
	if s.TokensUsed != nil && s.UsedPercentage != nil {
		r.Tokens, r.Percent = *s.TokensUsed, *s.UsedPercentage
	} else {
		r.Level = ""
	}
	r.Warning, r.Critical = t.Limits(r.Window, p.Threshold)
	return r
}

// lastRecord is when an agent last did anything by what its records and its client say. The time of the file counts where
// there is nothing else: a copy has a new one.
func lastRecord(v *fleet.View) time.Time {
	seen := v.Active
	for _, t := range [...]time.Time{v.Spoke, v.Hooked} {
		if t.After(seen) {
			seen = t
		}
	}
	if seen.IsZero() {
		return v.Written
	}
	return seen
}

// detail draws all about one agent; one that is not known is no error.
func (h *hub) detail(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	now := time.Now()
	d := webpage.Detail{Asked: id, Location: time.Local}
	look := func() (agent alerts.AgentID, path string, depth int64, err error) {
		err = h.app.do(ctx, func(c *core) {
			v, unknown := c.fleet.View(id, now)
			switch {
			case errors.Is(unknown, fleet.ErrAmbiguous):
				d.Problem = "More than one agent is called so"
			case unknown != nil && !c.caughtUp:
				d.Problem = "Still catching up"
			case unknown != nil:
				d.Problem = "No such agent"
			}
			if unknown != nil {
				return
			}
			agent, path = alerts.AgentID(v.Agent), v.Path
			past := c.agents.look(agent).curve
			depth, d.History = past.Depth(), *past.Shown()
			d.Row, d.Facts = c.row(&v, h.app.settings.Load().Alerts.Thresholds), c.facts(&v)
			d.Messages, d.Commands = c.messagesTo(agent), commandsFor(&v)
			if began := past.Began(); began > 0 {
				d.Facts = append(d.Facts, webpage.Fact{Name: "Cycle began", At: int64(began)})
			}
		})
		return agent, path, depth, err
	}
	agent, path, depth, err := look()
	if err != nil {
		return "", err
	}
	if path != "" && depth < curve.DetailDepth {
		h.fillIn(ctx, agent, path, curve.DetailDepth)
		if _, _, _, err = look(); err != nil {
			return "", err
		}
	}
	d.Under = h.under(&d.Row)
	return h.page.Detail(&d)
}

// fillIn reads the end of a transcript beside the loop, one at a time, and has the loop
// take it. What cannot be read is not asked for again.
func (h *hub) fillIn(ctx context.Context, agent alerts.AgentID, path string, depth int64) {
	select {
	case h.filling <- struct{}{}:
	case <-ctx.Done():
		return
	}
	past, err := curve.ReadEnd(path, depth)
	<-h.filling
	if err != nil {
		h.app.log.Debug("no past to show", "err", err)
		past = &curve.Curve{}
	}
	// With ctx whoever looks has gone.
	_ = h.app.do(ctx, func(c *core) { c.agents.curve(agent, time.Now()).Fill(past, depth) })
}

// facts are what is known of an agent besides its row.
func (c *core) facts(v *fleet.View) []webpage.Fact {
	p := c.policy(v)
	s := p.session(*v)
	facts := []webpage.Fact{
		{Name: "Agent", Value: s.ID, Copy: true}, {Name: "Session", Value: s.SessionID, Copy: true}, {Name: "Parent", Value: s.ParentID},
		{Name: "Directory", Value: s.CWD, Copy: true}, {Name: "Transcript", Value: s.TranscriptPath, Copy: true},
		{Name: "Model", Value: s.Model}, {Name: "Client", Value: s.Version}, {Name: "Window", Value: webpage.Short(s.WindowTokens) + ", by " + s.WindowSource},
	}
	if p.Threshold > 0 {
		how := map[alerts.ThresholdSource]string{
			alerts.ThresholdConfigured: "configured", alerts.ThresholdSeen: "as seen before", alerts.ThresholdAssumed: "assumed",
		}[p.ThresholdSource]
		facts = append(facts, webpage.Fact{Name: "Compacts at", Value: webpage.Short(p.Threshold) + ", " + how})
	}
	facts = append(facts,
		webpage.Fact{Name: "Largest context", Value: webpage.Short(s.PeakTokens)},
		webpage.Fact{Name: "Compactions", Value: fmt.Sprintf("%d auto, %d manual, %d unknown", s.Compactions.Auto, s.Compactions.Manual, s.Compactions.Unknown)},
	)
	if s.Inherited > 0 {
		facts = append(facts, webpage.Fact{Name: "Inherited", Value: fmt.Sprint(s.Inherited, " compactions of another session")})
	}
	facts = append(facts,
		webpage.Fact{Name: "Turns", Value: fmt.Sprint(s.Turns)},
		webpage.Fact{Name: "Replies", Value: webpage.Thousands(int64(s.Messages))},
		webpage.Fact{Name: "Tokens", Value: fmt.Sprintf("%s read from cache, %s into it, %s other input, %s output",
			webpage.Short(s.Tokens.CacheRead), webpage.Short(s.Tokens.CacheCreation), webpage.Short(s.Tokens.Input), webpage.Short(s.Tokens.Output))},
	)
	if s.Subagents.Messages > 0 {
		facts = append(facts, webpage.Fact{Name: "Subagents", Value: fmt.Sprintf("%d files, %d replies", s.Subagents.Files, s.Subagents.Messages)})
	}
	return append(facts,
		webpage.Fact{Name: "Cross-check", Value: cmp.Or(s.CrossCheck, "no status line yet")},
		webpage.Fact{Name: "Pane", Value: s.Pane},
		webpage.Fact{Name: "Queued", Value: queuedText(s.Queued)},
		webpage.Fact{Name: "Started", At: int64(curve.Seconds(v.Started))},
		webpage.Fact{Name: "Last reading", At: int64(curve.Seconds(v.Reading))},
		webpage.Fact{Name: "Status line", At: int64(curve.Seconds(v.Spoke))},
		webpage.Fact{Name: "Last hook", At: int64(curve.Seconds(v.Hooked))},
	)
}

func queuedText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 message waits"
	}
	return fmt.Sprint(n, " messages wait")
}
