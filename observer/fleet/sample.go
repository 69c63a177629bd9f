package fleet

import (
	"sm/alerts"
	"sm/observer/fleet/crosscheck"
	"sm/transcript"
)

// sample takes in a report of an agent's present session. One that is older
// than another before it, or than the session, says nothing any more.
func (g *gauge) sample(a *Agent, x crosscheck.Sample) (n Update) {
	if x.At < a.Spoke || x.At < a.Since {
		g.dropped++
		return n
	}
	a.Spoke = x.At
	g.changed.agent(a.ID)
	s := g.sessions[a.Session]
	if x.Window > 0 && x.Window != a.Window {
		a.Window = x.Window
		n.add(g.again(a)) // it is another share of the window now
	}
	x.Back = g.wentBack(a, s, &x)
	x.Shown = x.Back && a.Sample.Shown
	a.Sample = x
	if x.Tokens == 0 && !x.Back {
		return n
	}
	ev := alerts.Event{
		Kind:   alerts.EventReading,
		Agent:  alerts.AgentID(a.ID),
		At:     x.At.Time(),
		Tokens: x.Tokens,
		Window: x.Window,
		Model:  x.Model,
		Source: transcript.FromStatusline,
		Back:   x.Back,
	}
	t := a.unread()
	if s != nil && len(s.own) > 0 {
		t = &s.own[0].Session
		if t.Model != "" { // without the suffix that transcripts do not have
			ev.Model = t.Model
		}
		tokens, known := t.Context()
		if known && tokens == ev.Tokens { // it speaks of that reading
			ev.Cleared = t.Reading.Cleared
		}
		if !x.Back {
			a.Sample.Compare(g.readings(a))
		}
		if !g.client(t).StatusLine && known && tokens == ev.Tokens && x.At <= t.Reading.At+crosscheck.Lag {
			return n
		}
	}
	if !g.client(t).StatusLine {
		// A hook reports one response with the figure of the record; the first of the two counts.
		ev.Source = transcript.FromTranscript
	}
	if ev.Window == 0 {
		ev.Window = g.windowOf(a, t)
	}
	ev.Reserved, ev.CompactsAt = g.client(t).WindowOf(t, 0, nil).Reserved, g.compactsAt(a, t, ev.Window)
	n.event(ev)
	return n
}

// recentReadings is how many of an agent's readings samples are compared with.
const recentReadings = 8

// readings are the newest readings of the session, the current one last.
func (g *gauge) readings(a *Agent) []transcript.Reading {
	all := g.recent[a.ID]
	if s := g.sessions[a.Session]; s != nil && len(s.own) > 0 {
		if t := &s.own[0].Session; !t.Blank && t.Reading.Tokens > 0 {
			all = append(all[:len(all):len(all)], t.Reading)
		}
	}
	return all
}

// remember keeps a reading to compare samples with.
func (g *gauge) remember(a *Agent, r transcript.Reading) {
	all := append(g.recent[a.ID], r)
	if len(all) > recentReadings {
		all = append(all[:0], all[1:]...)
	}
	g.recent[a.ID] = all
	if a.Sample.Back && r.At >= a.Sample.At {
		a.Sample.Back = false
	}
	if a.Sample.Compare(g.readings(a)) {
		g.changed.agent(a.ID)
	}
}

// aheadOfTranscript reports whether a hook reported a response that is not in the
// transcript yet.
func (g *gauge) aheadOfTranscript(a *Agent, v *View) bool {
	x := &a.Sample
	return !g.options.Clients.Named(v.Program).StatusLine && x.Tokens > 0 && x.At > transcript.InstantOf(v.Active) &&
		!(v.Known && v.Tokens == x.Tokens)
}
