package fleet

import (
	"cmp"
	"errors"
	"fmt"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// Hook applies a hook of the client, as of the payload's time, at most now.
// agent is "" if the hook identifies none. Hooks of subagents change nothing.
func (f *Fleet) Hook(
	p *hook.Payload,
	now transcript.Instant,
) (n Update, agent string) {
	defer f.finish(&n)
	f.clock(now)
	at := stamp(&p.SM, now)
	if p.Subagent() || f.compactsSubagent(p, at) {
		return n, ""
	}
	ends := p.Event == hook.SessionEnd && p.Reason != "clear" && p.Reason != "resume"
	if ends && f.settled {
		if _, err := f.find(p.SessionID, fitsLabel); err != nil {
			return n, "" // commands such as claude mcp list end a session that never began
		}
	}
	a := f.signal(p.SessionID, p.SM)
	if a == nil {
		return n, ""
	}
	if p.Source == "startup" {
		a.Fresh = p.SessionID
	}
	f.change(a, p, at)
	if a.Hooked < at {
		a.Hooked = at
		a.Client = p.SM.Client
	}
	switch p.Event {
	case hook.UserPromptSubmit:
		a.Prompted = max(a.Prompted, at)
	case hook.SessionStart:
		if at >= a.Begun {
			a.Begun = at
			a.CacheWriteUSD = p.CacheWriteUSD
		}
		if a.CWD == "" || p.Source == "startup" ||
			p.Source == "resume" { // otherwise the client may have changed its directory
			a.CWD = p.CWD
		}
	}
	present := a.Session == p.SessionID
	if present && ends {
		a.Ended = max(a.Ended, at)
	}
	if s := f.sessions[p.SessionID]; ends && s != nil {
		t := Total{Process: senderOf(&p.SM), At: at, Base: true}
		if last := s.newestTotal(); t.known() && last.known() && last.Process != t.Process {
			f.keepTotal(s, t) // reports of the other client do not include this client's cost
		}
	}
	if p.SessionID != "" && (present || p.SessionID == a.Resumed) {
		a.HookedIn = p.SessionID
	}
	if p.SessionID != "" && !present {
		return n, a.ID
	}
	if at >= a.Asked {
		a.Asks = p.Asks()
		a.Asked = at
	}
	f.setAutoCompact(a, &p.SM)
	f.hookEvent(a, p, at)
	// If the transcript is not read yet, its window is unknown; if there is
	// none, the usual window is assumed. SessionStart reports a size without
	// the system prompt.
	if p.Event == hook.PostModelRequest && p.ContextTokens > 0 &&
		(f.transcript(a.Session) != nil || p.TranscriptPath == "") {
		f.sample(a, Sample{At: at, Tokens: p.ContextTokens, Model: p.Model})
	}
	return n, a.ID
}

// compactsSubagent reports whether a hook may be about the compaction of an
// active subagent: up to 2.1.300 Claude Code does not name the subagent in
// these hooks. If the agent itself compacts, its context is near the limit
// before, and unknown after, as the client writes the boundary before it calls
// the hooks.
func (f *Fleet) compactsSubagent(p *hook.Payload, at transcript.Instant) bool {
	x := f.transcript(p.SessionID)
	if x == nil || p.Source != "compact" && p.Trigger != "auto" {
		return false
	}
	a := f.agentIn(x.of)
	n, _ := x.of.atWork(at.Time())
	own, known := x.Session.Context()
	return n > 0 && known &&
		(p.Event != hook.PreCompact ||
			own < f.compactsAt(a, &x.Session, f.windowOf(a, &x.Session).Tokens)*3/4)
}

// stamp returns the time of a signal, at most now.
func stamp(o *hook.Origin, now transcript.Instant) transcript.Instant {
	if at := transcript.InstantOf(o.At); at != 0 && at < now {
		return at
	}
	return now
}

// hookEvent emits the event of a hook.
func (f *Fleet) hookEvent(a *agent, p *hook.Payload, at transcript.Instant) {
	ev := alerts.Event{Agent: a.ID, At: at.Time()}
	switch p.Event {
	case hook.UserPromptSubmit:
		ev.Kind = alerts.EventTurnStart
	case hook.PreCompact:
		ev.Kind = alerts.EventCompacting
		ev.Trigger = transcript.TriggerOf(p.Trigger)
		if ev.Trigger == transcript.Auto && f.BetweenTurns(ev.Agent) {
			ev.Trigger = transcript.Idle
		}
	case hook.PostCompact:
		ev.Kind = alerts.EventCompacted
		ev.Sign = alerts.SignPostCompact
		ev.Trigger = transcript.TriggerOf(p.Trigger)
	case hook.SessionStart:
		if p.Source != "compact" || !f.options.Clients.Named(p.SM.Client).CompactStarts {
			return
		}
		ev.Kind = alerts.EventCompacted
		ev.Sign = alerts.SignSessionStart
	default:
		return
	}
	f.emit(ev)
}

// BetweenTurns reports whether no turn of the agent's session is open: the
// transcript has the end of the last turn, and no prompt came since. A
// compaction that begins then is idle, or writes a summary for later.
func (f *Fleet) BetweenTurns(agent string) bool {
	a := f.orSession(agent)
	t := f.sessionOf(a)
	return f.agents[a.ID] != nil && t.Turns > 0 && !t.InTurn && a.Prompted <= t.Active
}

// Status applies a report of the status line.
func (f *Fleet) Status(s *hook.Status, now transcript.Instant) (n Update) {
	defer f.finish(&n)
	f.clock(now)
	at := stamp(&s.SM, now)
	a := f.signal(s.SessionID, s.SM)
	if a == nil {
		return n
	}
	f.take(a, s.SessionID, at, alerts.CauseSession)
	if s.SessionID != "" && a.Session != s.SessionID {
		return n
	}
	f.setAutoCompact(a, &s.SM)
	f.report(a, s, at)
	x := Sample{At: at, Model: s.Model, Window: max(0, s.Window.Size.Value)}
	if s.Window.UsedPercentage.Value <= full {
		x.Percent, _ = s.Percent()
	}
	x.Tokens, _ = s.Tokens()
	if x.Tokens == 0 && x.Percent > 0 {
		x.Tokens = x.Window * int64(x.Percent) / 100
		x.Rough = true
	}
	f.sample(a, x)
	return n
}

// ErrEvent means that a script posted an unknown event.
var ErrEvent = errors.New("unknown event")

// Usage applies a script's report or event for an agent, given by the agent's
// id or name or the session's id. The error is [ErrUnknown] if there is no such
// agent, or wraps [ErrEvent].
func (f *Fleet) Usage(
	u *hook.ContextUsage,
	now transcript.Instant,
) (n Update, agent string, err error) {
	defer f.finish(&n)
	f.clock(now)
	a := f.called(u.SessionID)
	if a == nil {
		return n, "", ErrUnknown
	}
	ev := alerts.Event{Agent: a.ID, At: now.Time()}
	switch u.Event {
	case "":
		f.sample(a, posted(u, f.windowOf(a, f.sessionOf(a)).Tokens, now))
		return n, a.ID, nil
	case "compaction":
		ev.Kind = alerts.EventCompacting
		ev.Trigger = transcript.TriggerOf(u.Trigger)
	case "compaction_complete":
		ev.Kind = alerts.EventCompacted
		ev.Sign = alerts.SignComplete
	case "context_reset":
		ev.Kind = alerts.EventReset
		ev.Cause = alerts.CauseClear
	default:
		return n, a.ID, fmt.Errorf(
			"%w: %q; post compaction, compaction_complete or context_reset",
			ErrEvent,
			u.Event,
		)
	}
	a.Hooked = max(a.Hooked, now)
	f.changed.agent(a.ID)
	f.emit(ev)
	return n, a.ID, nil
}

// full is the largest percentage of a window. Old clients report larger ones,
// computed from the sum over the session.
const full = 100

// posted returns the sample in a script's report. In old clients the number of
// tokens is the sum over the session, which the report does not show: it is
// used only if it matches the percentage.
func posted(u *hook.ContextUsage, window int64, now transcript.Instant) Sample {
	x := Sample{At: now, Window: max(0, u.ContextWindowSize)}
	window = cmp.Or(x.Window, window)
	if u.UsedPercentage == nil || *u.UsedPercentage <= 0 || *u.UsedPercentage > full {
		return x
	}
	p := *u.UsedPercentage
	x.Percent = int(p + 0.5)
	x.Tokens = int64(p * float64(window) / 100)
	x.Rough = true
	if n := u.TotalInputTokens; n > 0 &&
		near(transcript.Window{Tokens: window}.Percent(n), x.Percent) {
		x.Tokens = n
		x.Rough = false
	}
	return x
}

// Registration registers an agent by name.
type Registration struct {
	ID, Parent, Name, Provider string
	// Session is a session's id, Pane the %id of a pane, and Tmux the socket of
	// its server; "" if unknown.
	Session, Pane, Tmux string
}

// Register applies a registration, which may add to an earlier one.
func (f *Fleet) Register(r Registration, now transcript.Instant) (n Update, err error) {
	defer f.finish(&n)
	const (
		word = "not one word of at most 128 bytes; give another"
		line = "not one line of at most 128 bytes; give another"
	)
	r.ID = f.Named(r.ID)
	if parent, err := f.Agent(r.Parent, true); err == nil {
		r.Parent = parent
	}
	for _, field := range []struct {
		fits             bool
		name, value, why string
	}{
		{isAgent(r.ID), "id", r.ID, word},
		{isLine(r.Name), "name", r.Name, line},
		{isLine(r.Provider), "provider", r.Provider, line},
		{r.Parent == "" || isAgent(r.Parent), "parent_session_id", r.Parent, word},
		{r.Parent != r.ID, "parent_session_id", r.Parent, "an agent is not its own parent; name another"},
		{
			r.Session == "" || isUUID(r.Session), "claude_session_id", r.Session,
			"not a UUID; leave it out where it is unknown",
		},
		{
			r.Pane == "" || hook.IsPane(r.Pane), "pane", r.Pane,
			"not a pane's id such as %12; leave it out where it is unknown",
		},
	} {
		if !field.fits {
			return n, fmt.Errorf("%s %q: %s", field.name, field.value, field.why)
		}
	}
	inPane := func(x *agent) bool { return x.inPane(r.Tmux, 0, r.Pane) }
	var in *agent // the agent whose client runs in the pane
	for _, x := range f.agents {
		switch {
		case !inPane(x) || !f.inClient(x):
		case in != nil && in.ID == r.ID:
		case in == nil || in.Named || x.ID == r.ID:
			in = x
		case x.Named: // started by sm run in the agent's own shell
		case r.Session == "":
			return n, fmt.Errorf(
				"several tmux servers have a client in %s; run sm register in one of them, or add --session",
				r.Pane,
			)
		}
	}
	if in != nil && in.ID != r.ID {
		r.Session = cmp.Or(r.Session, in.Session)
	}
	other := f.currentAgent(f.sessions[r.Session])
	was := f.orSession(r.ID)
	moves := r.Session == "" && was.PID != 0 && was.Pane != "" && r.Pane != "" &&
		!inPane(was)
	if moves || other != nil && other.ID != r.ID && f.inClient(other) {
		for _, x := range []*agent{other, was} {
			if x != nil && x.Named && f.inClient(x) {
				return n, fmt.Errorf(
					"the client of %[1]s has this id in its environment, as under sm run; use sm register %[1]s --name NAME, or start it with another --name",
					x.ID,
				)
			}
		}
	}
	if other != nil && !other.Named && f.agents[r.ID] == nil {
		f.reassign(other, r.ID)
	}
	a := f.agent(r.ID)
	a.Registered = true
	f.changed.agent(a.ID)
	f.describe(a, &hook.Origin{Parent: r.Parent, Name: r.Name, Provider: r.Provider})
	if moves { // its client does not move
		f.release(a)
	}
	if r.Session != "" {
		if a.Session != r.Session && a.Resumed != r.Session {
			f.release(a)
			if other != nil && !f.same(a, other) {
				f.release(other)
			}
		}
		a.Resumed = r.Session
		f.take(a, r.Session, now, alerts.CauseSession)
	}
	if r.Pane == "" || f.inClient(a) && inPane(a) {
		return n, nil
	}
	for id, x := range f.agents { // a pane has one agent
		if inPane(x) {
			x.Pane = ""
			f.changed.agent(id)
		}
	}
	a.Tmux = r.Tmux
	a.Server = 0
	a.Pane = r.Pane
	return n, nil
}
