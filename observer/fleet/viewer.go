package fleet

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients"
)

// Views returns all sessions that have a transcript, and the agents that have none, the
// newest activity first; of equal ones in the order of their keys. There are none before
// Settle, since who was first is not known yet.
func (vw *viewer) Views(now time.Time) []View {
	order := vw.order()
	views := make([]View, len(order))
	for i := range order {
		vw.view(&order[i], now, &views[i])
	}
	return views
}

// All is Views without the memory for all at once. The fleet must not be changed
// meanwhile.
func (vw *viewer) All(now time.Time) iter.Seq[View] {
	return func(yield func(View) bool) {
		order := vw.order()
		for i := range order {
			var v View
			if vw.view(&order[i], now, &v); !yield(v) {
				return
			}
		}
	}
}

// Key names what has a view: a session, or an agent without one.
type Key struct{ session, agent string }

// Keys lists the keys of all views in the order of Views.
func (vw *viewer) Keys() []Key {
	order := vw.order()
	keys := make([]Key, len(order))
	for i := range order {
		if keys[i].agent = order[i].key(); order[i].s != nil {
			keys[i] = Key{session: order[i].s.key}
		}
	}
	return keys
}

// ViewOf shows what has a key; ok is false for what has been removed since Keys.
func (vw *viewer) ViewOf(k Key, now time.Time) (v View, ok bool) {
	r := row{of: vw.agents[k.agent]}
	session := k.session
	if r.of != nil {
		session = r.of.Session
	}
	if s := vw.sessions[session]; s != nil && len(s.own) > 0 {
		r.s = s
		r.of = vw.currentAgent(s)
	}
	if r.s == nil && r.of == nil {
		return v, false
	}
	vw.view(&r, now, &v)
	return v, true
}

// View finds one session. The id is, in this order, an agent's id, which names the
// agent's present session; an agent's name, or the one that its client goes by; a
// session's id; a label; or the first characters, at least 8, of an agent's or
// session's id.
func (vw *viewer) View(id string, now time.Time) (v View, err error) {
	r, err := vw.find(id, fitsBeginning)
	if err != nil {
		return v, err
	}
	vw.view(&r, now, &v)
	return v, nil
}

// view fills v, which is large and many.
func (vw *viewer) view(r *row, now time.Time, v *View) {
	*v = View{Provider: clients.Claude, Program: clients.Claude, Cycle: 1}
	if r.s != nil {
		vw.viewSession(r, v)
	}
	if a := r.of; a != nil {
		vw.viewAgent(a, now, v)
	} else if r.s != nil && vw.agents[r.s.record.Agent] != nil {
		v.Agent = r.s.key
		v.Label = ""
		v.Left = true
	}
	v.Title, v.Last = r.title(), r.last().Time()
	v.Ended = !v.Left && !v.Client.Runs() && vw.ended(r)
	if !v.Left && !v.Ended {
		v.Reason, v.Waits = vw.waits(r)
	}
	v.Live = v.Client.Runs() || !v.Left && !v.Ended && vw.lately(r, now)
	if v.Live && r.s != nil {
		v.SubagentsAtWork, v.SubagentContext = r.s.atWork(now)
	}
}

func (vw *viewer) viewSession(r *row, v *View) {
	s := r.s
	x := s.own[0]
	t, in := s.whole()
	also := t.Also()
	side := s.subagents()
	window := int64(0)
	if r.of != nil {
		window = r.of.Window
	}
	*v = View{
		Agent:            s.record.Agent,
		Label:            s.record.Label,
		SessionID:        s.id(),
		ParentID:         also.Parent,
		Provider:         vw.client(t).Client,
		Program:          vw.client(t).Client,
		Path:             x.Cursor.Path,
		Project:          project(t.CWD, x.Cursor.Path),
		CWD:              t.CWD,
		Model:            t.Model,
		Version:          t.Version,
		Reading:          t.Reading.At.Time(),
		Peak:             t.Peak,
		Window:           vw.client(t).WindowOf(t, window, vw.options.Windows),
		Inherited:        in.Compactions,
		Counted:          s.record.Counted,
		Cycle:            1,
		Turns:            t.Turns,
		InTurn:           t.InTurn,
		Messages:         max(0, t.Messages-in.Messages),
		Cost:             t.Tokens.Minus(in.Tokens),
		SubagentFiles:    side.files,
		SubagentMessages: side.messages + max(0, t.SideMessages-in.SideMessages),
		SubagentTokens:   side.tokens.Plus(t.SideTokens.Minus(in.SideTokens)),
		Bytes:            t.Bytes,
		Lines:            t.Lines,
		Bad:              t.Bad,
		Started:          t.Started.Time(),
		Active:           t.Active.Time(),
		Written:          written(x),
		Client:           vw.clients[s.key],
	}
	b := s.record.bills()
	if v.DearBills = b.Dear; len(b.List) > 0 {
		v.Bill = &b.List[len(b.List)-1]
	}
	if v.Tokens, v.Known = t.Context(); v.Known {
		v.Cleared = t.Reading.Cleared
	} else {
		if n := vw.gauge.estimate(x, r.of); n > 0 {
			v.Tokens, v.Known, v.Source, v.Reading = n, true, transcript.FromEstimate, v.Active
		} else {
			v.Estimate = also.Estimate
		}
	}
	v.Basis = vw.gauge.basis(r.of, t)
	if v.Known {
		v.Level = vw.options.Thresholds.Level(v.Tokens, v.Window, vw.gauge.compactsAt(r.of, t, v.Window.Tokens))
	}
	for i, n := range t.Compactions {
		v.Compactions[i] = max(0, n-in.Compactions[i])
		v.Cycle += v.Compactions[i]
	}
}

// CacheHits is the share of all input that was read from the cache, 0 to 1: by the status
// line, else by the transcript's tokens.
func (v *View) CacheHits() (ratio float64, known bool) {
	if n := v.Cost.Context(); n > 0 && !v.CacheHitKnown {
		return float64(v.Cost.CacheRead) / float64(n), true
	}
	return v.CacheHit, v.CacheHitKnown
}

// title is what people call the session: the best that its own files and the status line
// say; of files that say equally much the newest.
func (r *row) title() string {
	var t transcript.Title
	if r.of != nil && r.of.Report.Name != "" {
		t = transcript.NewTitle(r.of.Report.Name, transcript.TitleStatus)
	}
	if r.s != nil {
		for _, x := range r.s.own {
			t = t.Or(x.titleOf())
		}
	}
	return t.Text
}

// program is the client that wrote the session, or of an agent without a transcript the one that its hooks name.
func (vw *viewer) program(r *row) string {
	if r.s != nil {
		t, _ := r.s.whole()
		return vw.client(t).Client
	}
	return vw.client(r.of.unread()).Client
}

// viewAgent adds what is known of the agent besides its transcript.
func (vw *viewer) viewAgent(a *Agent, now time.Time, v *View) {
	if v.SessionID == "" {
		t := a.unread()
		v.SessionID, v.Model, v.Client, v.Provider, v.Program = a.Session, t.Model, vw.clients[a.Session], vw.client(t).Client, vw.client(t).Client
		v.Window = vw.client(t).WindowOf(t, a.Window, vw.options.Windows)
	}
	v.Agent, v.Name, v.ParentID, v.Provider = a.ID, a.Name, cmp.Or(a.Parent, v.ParentID), cmp.Or(a.Provider, v.Provider)
	v.Label = cmp.Or(a.Label, v.Label)
	v.Counted = a.Counted
	v.Hooked = a.Hooked.Time()
	if vw.options.Clients.Named(v.Program).StatusLine {
		v.Spoke = a.Spoke.Time()
	}
	v.Paid = a.Report.Cost
	v.CacheHit = a.Report.CacheHit
	v.CacheHitKnown = a.Report.CacheHitKnown
	v.CacheExpires = a.Report.CacheExpires.Time()
	v.Tmux = a.Tmux
	v.Server = a.Server
	v.Pane = a.Pane
	v.PID = a.PID
	v.Start = a.Start
	v.Sample = a.Sample
	v.Check, v.Drift, v.DriftKnown = a.Sample.Check(transcript.InstantOf(now))
	t := a.unread()
	s := vw.sessions[a.Session]
	read := s != nil && len(s.own) > 0
	if read {
		t = &s.own[0].Session
	}
	v.Basis = vw.gauge.basis(a, t)
	if read && a.Sample.Back && v.Known || vw.gauge.aheadOfTranscript(a, v) {
		v.Tokens, v.Cleared, v.Known, v.Source, v.Reading = a.Sample.Tokens, 0, a.Sample.Tokens > 0, transcript.FromStatusline, a.Sample.At.Time()
		v.Level = vw.options.Thresholds.Level(v.Tokens, v.Window, vw.gauge.compactsAt(a, t, v.Window.Tokens))
	}
	if o := &a.Opening; v.Reading.Before(o.At.Time()) {
		v.CacheWriteUSD = o.CacheWriteUSD
		if o.Tokens > 0 && !v.Known {
			v.Tokens = o.Tokens
			v.Known = true
			v.Source = transcript.FromStatusline
			v.Reading = o.At.Time()
			v.Level = vw.options.Thresholds.Level(v.Tokens, v.Window, vw.gauge.compactsAt(a, t, v.Window.Tokens))
		}
	}

	setting, _ := vw.gauge.autoCompact(a, t)
	if at := (*claude.AutoCompact)(setting).IdleCompaction(
		v.Tokens,
		a.Report.CacheTTL,
		v.CacheExpires,
	); at.After(now) &&
		!t.InTurn {
		v.IdleCompaction = at
	}
}

// project names what a session works on: the working directory without its
// parents, else the folder in which its transcript lies.
func project(cwd, path string) string {
	if name := lastElement(cwd); name != "" {
		return name
	}
	return lastElement(path[:len(path)-len(lastElement(path))])
}

// lastElement takes both separators for one, whichever machine wrote the path.
func lastElement(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// viewer shows sessions and agents to others.
type viewer struct {
	*liveness
	gauge *gauge
}

// Recent returns, in no order, the views of sessions whose client runs or whose
// View.Last is within ttl, 0 for any time; others counts the rest. Sessions that their
// agent has left are neither. With a client's name only its sessions count. Unlike All
// it costs almost nothing for old sessions.
func (vw *viewer) Recent(now time.Time, ttl time.Duration, client string) (views []View, others int) {
	for r := range vw.rows() {
		if r.s != nil && r.of == nil && vw.agents[r.s.record.Agent] != nil || client != "" && vw.program(&r) != client {
			continue
		}
		if ttl > 0 && !vw.runsNow(&r) && now.Sub(r.last().Time()) > ttl {
			others++
			continue
		}
		views = append(views, View{})
		vw.view(&r, now, &views[len(views)-1])
	}
	return views, others
}

// present returns the contexts of recently active sessions.
func (vw *viewer) present(now time.Time) (events []alerts.Event) {
	for i, p := range vw.order() {
		x := p.s.own[0]
		id, current := vw.agentOf(p.s)
		_, known := x.Session.Context()
		if !current || !known || now.Sub(max(x.Session.Active, changedAt(&x.Cursor)).Time()) > vw.options.ActiveFor {
			continue
		}
		a := vw.currentAgent(p.s)
		ev := vw.gauge.reading(id, &x.Session, a, x.Session.Reading)
		small := ev.Tokens < smallContext &&
			vw.options.Thresholds.Level(ev.Tokens, transcript.Window{
				Tokens:   ev.Window,
				Reserved: ev.Reserved,
			}, vw.gauge.compactsAt(a, &x.Session, ev.Window)) == alerts.OK
		if i >= atWorkMost && a == nil && small {
			continue // nothing is due before its first event
		}
		ev.History, ev.Cycle = true, 1+max(0, x.Session.Total()-x.also().Inherited.Compactions.Total())
		events = append(events, ev)
	}
	return events
}
