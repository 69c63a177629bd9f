package fleet

import (
	"cmp"
	"slices"

	"sm/alerts"
	"sm/transcript"
)

// fileEvents emits the events of a change of a session's own file for its
// agent. own has the compactions of the change that happened in this session.
// again means that the file had been read before.
func (f *Fleet) fileEvents(
	x *file,
	was transcript.Session,
	c *transcript.Change,
	own []claimed,
	again bool,
) {
	id, current := f.agentOf(x.of)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Text != "" {
			f.out.Received = append(f.out.Received, Received{id, e.Text, e.At})
		}
	}
	if !current || x != x.of.own[0] { // the agent has left the session, or the file is a copy
		return
	}
	was.Version = cmp.Or(was.Version, x.Session.Version)
	if c.Whole { // a compaction here may follow readings that are not listed
		was.Model = x.Session.Model
	}
	was.Particulars = x.Session.Particulars
	t := eventMaker{
		Fleet: f,
		a:     f.agentIn(x.of),
		x:     x,
		seen:  was,
		own:   own,
	}
	if c.Whole {
		t.begin(c, !again)
	}
	for i := range c.Entries {
		t.entry(&c.Entries[i])
	}
	t.compactions(false, func(m *claimed) bool { return m.fresh || m.Was != 0 })
	t.compactions(true, func(*claimed) bool { return true })
	t.estimate(len(c.Compactions) > 0)
}

// eventMaker turns the entries of one change into events.
type eventMaker struct {
	*Fleet
	a    *agent
	x    *file
	seen transcript.Session // model, version and peak as of the entry
	own  []claimed          // compactions without an event yet
}

// begin emits the content of a file before the listed entries. It is history,
// unless the file is read a second time: then unclaimed records are new.
func (t *eventMaker) begin(c *transcript.Change, history bool) {
	listed := map[transcript.Key]bool{}
	oldest := transcript.Instant(0)
	for i := range c.Entries {
		e := &c.Entries[i]
		listed[e.UUID] = true
		if e.Kind == transcript.KindReading && (oldest == 0 || e.At < oldest) {
			oldest = e.At
		}
	}
	t.compactions(history, func(m *claimed) bool {
		return m.fresh && (m.Own == 0 || !listed[m.Own])
	})
	s := &t.x.Session
	if _, known := s.Context(); known && (oldest == 0 || s.Reading.At < oldest) {
		ev := t.reading(t.a, s, s.Reading)
		ev.History = history
		ev.Cycle = 1 + s.Total()
		t.emit(ev)
	}
}

func (t *eventMaker) entry(e *transcript.Entry) {
	a := t.a
	ev := alerts.Event{Agent: a.ID, At: e.At.Time()}
	if len(e.Version) > 0 {
		t.seen.Version = string(e.Version)
	}
	switch e.Kind {
	case transcript.KindReading:
		t.seen.Peak = max(t.seen.Peak, e.Context)
		if len(e.Model) > 0 {
			t.seen.Model = string(e.Model)
		}
		r := e.Reading()
		recent := append(a.recent, r)
		a.recent = recent[max(0, len(recent)-maxRecent):]
		if a.Sample.Back && r.At >= a.Sample.At {
			a.Sample.Back = false
		}
		if t.compare(a) {
			t.changed.agent(a.ID)
		}
		t.emit(t.reading(a, &t.seen, r))
	case transcript.KindBoundary, transcript.KindSummary, transcript.KindTitle:
		// The details of a compaction belong to the cycle that it has opened,
		// not to the cycle of another compaction in this change.
		i := slices.IndexFunc(t.own, func(m claimed) bool {
			if m.Own == 0 {
				return m.fresh && m.At == e.At
			}
			return m.Own == e.UUID && (m.fresh || m.Was != 0)
		})
		if i >= 0 {
			m := t.own[i]
			if m.fresh {
				m.At = e.At
			}
			t.own = slices.Delete(t.own, i, i+1)
			t.compaction(&m, false)
		}
	case transcript.KindTurnStart:
		ev.Kind = alerts.EventTurnStart
		t.emit(ev)
		t.rewound(e)
	case transcript.KindTurnEnd:
		ev.Kind = alerts.EventTurnEnd
		t.emit(ev)
	case transcript.KindAside, transcript.KindRewind:
		t.rewound(e)
	}
}

// compactions emits the chosen ones of the compactions without an event.
func (t *eventMaker) compactions(history bool, chosen func(*claimed) bool) {
	var rest []claimed
	for _, m := range t.own {
		if chosen(&m) {
			t.compaction(&m, history)
		} else {
			rest = append(rest, m)
		}
	}
	t.own = rest
}

func (t *eventMaker) compaction(m *claimed, history bool) {
	ev := t.reading(t.a, &t.seen, transcript.Reading{At: m.At})
	ev.Kind = alerts.EventCompacted
	ev.Sign = alerts.SignBoundary
	ev.Key = cmp.Or(m.Was, m.Key)
	ev.Trigger = m.Trigger
	ev.PreTokens = m.PreTokens
	ev.History = history
	t.emit(ev)
}

// estimate emits an estimated context of a session whose provider reports no
// usage.
func (t *eventMaker) estimate(compacted bool) {
	s := &t.x.Session
	if s.Peak > 0 || s.Turns == 0 || !t.options.Estimate {
		return
	}
	a := t.a
	if compacted {
		a = t.agent(a.ID)
		a.Mark = s.Bytes
		t.changed.agent(a.ID)
	}
	if tokens := t.Fleet.estimate(t.x, a); tokens > 0 {
		ev := t.reading(a, s, transcript.Reading{At: s.Active, Tokens: tokens})
		ev.Source = transcript.FromEstimate
		t.emit(ev)
	}
}
