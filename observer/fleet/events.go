package fleet

import (
	"cmp"
	"slices"

	"sm/alerts"
	"sm/transcript"
)

// fileEvents returns the events of a change of a session's own file for its agent.
// mine are the compactions of the change that happened in this session and are
// new; known are earlier compactions with changed details.
// again means that the file had been read before.
func (f *Fleet) fileEvents(
	x *file,
	was transcript.Session,
	c *transcript.Change,
	mine, known []transcript.Compaction,
	again bool,
) {
	id, current := f.agentOf(x.of)
	if x != x.of.own[0] {
		current = false // a copy
	}
	was.Version = cmp.Or(was.Version, x.Session.Version)
	if c.Whole { // a compaction here may follow readings that are not listed
		was.Model = x.Session.Model
	}
	was.Particulars = x.Session.Particulars
	t := eventMaker{
		Fleet: f,
		id:    id,
		a:     f.agentIn(x.of),
		x:     x,
		seen:  was,
		mine:  mine,
		known: known,
	}
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Text != "" {
			f.out.Heard = append(f.out.Heard, Heard{id, e.Text, e.At})
		}
	}
	if !current {
		return
	}
	if c.Whole {
		t.begin(c, !again)
	}
	for i := range c.Entries {
		t.entry(&c.Entries[i])
	}
	for len(t.mine) > 0 {
		t.compaction(&t.mine, 0, false)
	}
	for len(t.known) > 0 {
		t.compaction(&t.known, 0, t.known[0].Was == 0)
	}
	t.estimate(len(c.Compactions) > 0)
}

// eventMaker turns the entries of one change into events.
type eventMaker struct {
	*Fleet
	id    string
	a     *agent
	x     *file
	seen  transcript.Session      // what the window depends on, as it was at the entry
	mine  []transcript.Compaction // without an event yet
	known []transcript.Compaction // whose details have no event yet
}

// begin emits the content of a file before the listed entries. It is history,
// unless the file is read a second time; then unclaimed records are new.
func (t *eventMaker) begin(c *transcript.Change, history bool) {
	listed := map[transcript.Key]bool{}
	oldest := transcript.Instant(0)
	for i := range c.Entries {
		listed[c.Entries[i].UUID] = true
		if at := c.Entries[i].At; c.Entries[i].Kind == transcript.KindReading &&
			(oldest == 0 || at < oldest) {
			oldest = at
		}
	}
	for i := 0; i < len(t.mine); {
		if e := &t.mine[i]; e.Own == 0 || !listed[e.Own] {
			t.compaction(&t.mine, i, history)
			continue
		}
		i++
	}
	s := &t.x.Session
	if _, known := s.Context(); known && (oldest == 0 || s.Reading.At < oldest) {
		ev := t.reading(t.id, s, t.a, s.Reading)
		ev.History = history
		ev.Cycle = 1 + s.Total()
		t.emit(ev)
	}
}

func (t *eventMaker) entry(e *transcript.Entry) {
	ev := alerts.Event{Agent: t.id, At: e.At.Time()}
	if len(e.Version) > 0 {
		t.seen.Version = string(e.Version)
	}
	switch e.Kind {
	case transcript.KindReading:
		t.seen.Peak = max(t.seen.Peak, e.Context)
		if len(e.Model) > 0 {
			t.seen.Model = string(e.Model)
		}
		r := transcript.Reading{At: e.At, Tokens: e.Context, Cleared: e.Cleared}
		t.remember(t.a, r)
		t.emit(t.reading(t.id, &t.seen, t.a, r))
		return
	case transcript.KindBoundary, transcript.KindSummary, transcript.KindTitle:
		i := slices.IndexFunc(t.mine, func(m transcript.Compaction) bool {
			return m.Own != 0 && m.Own == e.UUID || m.Own == 0 && m.At == e.At
		})
		if i >= 0 {
			t.mine[i].At = e.At
			t.compaction(&t.mine, i, false)
			return
		}
		// Particulars belong to the cycle that the compaction has opened, not
		// to one that another compaction of this change opens.
		i = slices.IndexFunc(
			t.known,
			func(k transcript.Compaction) bool { return k.Was != 0 && k.Own == e.UUID },
		)
		if i >= 0 {
			t.compaction(&t.known, i, false)
		}
		return
	case transcript.KindTurnStart:
		ev.Kind = alerts.EventTurnStart
	case transcript.KindTurnEnd:
		ev.Kind = alerts.EventTurnEnd
	case transcript.KindAside, transcript.KindRewind:
		t.rewound(e)
		return
	default:
		return
	}
	t.emit(ev)
	if e.Kind == transcript.KindTurnStart {
		t.rewound(e)
	}
}

// compaction emits the i-th compaction of a list and removes it.
func (t *eventMaker) compaction(list *[]transcript.Compaction, i int, history bool) {
	e := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	s := &t.seen
	window := t.windowOf(t.a, s).Tokens
	t.emit(alerts.Event{
		Kind:       alerts.EventCompacted,
		Agent:      t.id,
		At:         e.At.Time(),
		Sign:       alerts.SignBoundary,
		Key:        cmp.Or(e.Was, e.Key),
		Trigger:    e.Trigger,
		PreTokens:  e.PreTokens,
		Model:      s.Model,
		Window:     window,
		CompactsAt: t.compactsAt(t.a, s, window),
		History:    history,
	})
}

// estimate guesses the context of a session whose provider reports no usage at all.
func (t *eventMaker) estimate(compacted bool) {
	s := &t.x.Session
	if s.Peak > 0 || s.Turns == 0 || !t.options.Estimate {
		return
	}
	if compacted {
		a := t.agent(t.id)
		a.Mark = s.Bytes
		t.changed.agent(a.ID)
		t.a = a
	}
	if tokens := t.Fleet.estimate(t.x, t.a); tokens > 0 {
		ev := t.reading(t.id, s, t.a, transcript.Reading{At: s.Active, Tokens: tokens})
		ev.Source = transcript.FromEstimate
		t.emit(ev)
	}
}
