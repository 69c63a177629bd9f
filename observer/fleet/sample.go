package fleet

import (
	"cmp"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/clients"
)

// Sample is one report of the status line, and what became of the comparison with the
// transcript.
type Sample struct {
	At transcript.Instant
	// Tokens and Percent are 0 where the report did not know them, as before the first
	// reply.
	Tokens, Window int64
	Percent        int
	Model          string
	// Rough says that Tokens are no more than what the percentage says.
	Rough bool
	// Agrees says that the transcript has shown the same; Near is the size that it
	// showed last within 5 s of the sample, 0 for none.
	Agrees bool
	Near   int64
	// Back says that the client had shown the newest reading before, and shows less since:
	// its conversation was rewound. The transcript shows that with the next prompt; Told
	// says that it has. Without Tokens the client went back to the very beginning.
	Back, Told bool
}

// lag is how far apart sample and transcript may speak of one reply.
const lag = transcript.Instant(5 * time.Second)

// sample takes in a report of an agent's present session. One that is older
// than another before it, or than the session, says nothing any more.
func (g *gauge) sample(a *Agent, x Sample) (n Update) {
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
	x.Back = a.wentBack(s, &x)
	x.Told = x.Back && a.Sample.Told
	a.Sample = x
	if x.Tokens == 0 && !x.Back {
		return n
	}
	ev := alerts.Event{
		Kind: alerts.EventReading, Agent: alerts.AgentID(a.ID), At: x.At.Time(), Tokens: x.Tokens, Window: x.Window,
		Model: x.Model, Source: transcript.FromStatusline, Back: x.Back,
	}
	t := &transcript.Session{Model: x.Model}
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
			a.compare(g.readings(a))
		}
		if clients.Of(t) == clients.Codex {
			// Its hook tells of one response, with the figure of the record: whichever of them comes first counts.
			if ev.Source = transcript.FromTranscript; known && tokens == ev.Tokens && x.At <= t.Reading.At+lag {
				return n
			}
		}
	}
	if ev.Window == 0 {
		ev.Window = g.windowOf(a, t)
	}
	ev.Reserved, ev.CompactsAt = clients.WindowOf(t, 0, nil).Reserved, g.compactsAt(a, t, ev.Window)
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
	if a.compare(g.readings(a)) {
		g.changed.agent(a.ID)
	}
}

// compare ties the sample to readings of the transcript, and reports whether that says
// something new. It speaks of one that was the newest at a time within 5 s of its own.
func (a *Agent) compare(readings []transcript.Reading) (news bool) {
	x, was := &a.Sample, a.Sample
	if x.Tokens == 0 || x.Agrees || x.Back {
		return false
	}
	all := slices.Clone(readings) // forks hold their own records before those that they copy
	slices.SortStableFunc(all, func(r, q transcript.Reading) int { return cmp.Compare(r.At, q.At) })
	for i, r := range all {
		if r.At > x.At+lag {
			break
		}
		if i+1 < len(all) && all[i+1].At != 0 && all[i+1].At < x.At-lag {
			continue
		}
		x.Near = r.Tokens
		x.Agrees = x.Agrees || x.is(r)
	}
	return *x != was
}

// is says whether sample and reading tell the same figures.
func (x *Sample) is(r transcript.Reading) bool {
	window := x.Window
	if window == 0 && x.Rough {
		window = 100 * x.Tokens / int64(max(1, x.Percent))
	}
	return (x.Rough || r.Tokens == x.Tokens) && near(transcript.Window{Tokens: window}.Percent(r.Tokens), x.Percent)
}

// near says that two percentages are one, but for rounding; 0 is unknown.
func near(a, b int) bool { return a == 0 || b == 0 || max(a-b, b-a) <= 1 }

// How a sample stands to the transcript.
const (
	CheckNone    = ""        // there is nothing to compare
	CheckAgrees  = "agrees"  // both say the same
	CheckLagging = "lagging" // one of them may be about to
	CheckDrift   = "drift"   // they do not
)

// check compares the newest sample with the transcript. The drift is how many tokens
// more the sample tells, and known for agreement (0) and drift.
func (a *Agent) check(now transcript.Instant) (state string, drift int64, known bool) {
	x := &a.Sample
	switch {
	case x.Tokens == 0:
		return CheckNone, 0, false
	case x.Agrees || x.Back:
		return CheckAgrees, 0, true
	case now < x.At+lag:
		return CheckLagging, 0, false
	case x.Near == 0:
		return CheckNone, 0, false
	}
	return CheckDrift, x.Tokens - x.Near, true
}

// foretold says that a hook of Codex has told of a response that the transcript does not show yet.
func (a *Agent) foretold(v *View) bool {
	x := &a.Sample
	return v.Program == clients.Codex && x.Tokens > 0 && x.At > transcript.InstantOf(v.Active) && !(v.Known && v.Tokens == x.Tokens)
}
