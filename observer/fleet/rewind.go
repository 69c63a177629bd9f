package fleet

import (
	"slices"

	"sm/alerts"
	"sm/observer/fleet/crosscheck"
	"sm/transcript"
)

// wentBack reports whether a report of the status line shows a rewound
// conversation: the report before had the transcript's newest reading, this one
// has less, and between turns only a rewind makes a context smaller without a
// record. A report without a figure means the very beginning, if it is from the
// same run of the client: one that has just started has no figure either.
func (g *gauge) wentBack(a *Agent, s *session, x *crosscheck.Sample) bool {
	if s == nil || len(s.own) == 0 || x.Rough {
		return false
	}
	was := &a.Sample
	t := &s.own[0].Session
	if !g.client(t).StatusLine { // the transcript has the rewinds
		return false
	}
	tokens, known := t.Context()
	switch {
	case !known || t.InTurn && !was.Back || x.At <= t.Reading.At:
		return false
	case was.Back && x.Tokens == was.Tokens:
		return true
	case x.Tokens == 0 && (a.Begun == 0 || a.Begun > was.At):
		return false
	}
	return (was.Back || was.Agrees && was.Tokens == tokens) && x.Tokens < was.Tokens
}

// rewound emits that the conversation was rewound before a prompt: by the
// transcript, or by the status line alone if an old client writes the first prompt
// of a restarted conversation like any other.
func (t *eventMaker) rewound(e *transcript.Entry) {
	back := t.a != nil && t.a.Sample.Back && !t.a.Sample.Shown
	left := e.Left
	until := e.Until
	switch {
	case e.Rewound:
	case back && e.Kind == transcript.KindTurnStart && t.a.Sample.Tokens == 0 && e.At > t.a.Sample.At:
		left = 0
		until = t.a.Sample.At
	default:
		return
	}
	r := transcript.Reading{At: e.At, Tokens: e.Context, Cleared: e.Cleared}
	ev := t.gauge.reading(t.id, &t.seen, t.a, r)
	ev.Kind = alerts.EventReset
	ev.Cause = alerts.CauseRewind
	ev.Left = left
	ev.Until = until
	t.out = append(t.out, ev)
	if t.a == nil {
		return
	}
	if back {
		t.a.Sample.Shown = true
		t.gauge.changed.agent(t.a.ID)
	}
	if e.Rewound {
		t.gauge.forsake(t.a, left, until)
	}
}

// forsake drops the readings of the part of a conversation that it has lost.
func (g *gauge) forsake(a *Agent, left, until transcript.Instant) {
	g.recent[a.ID] = slices.DeleteFunc(g.recent[a.ID], func(r transcript.Reading) bool {
		return r.At > left && r.At <= until
	})
	if a.Sample.Back {
		a.Sample.Back = a.Sample.Tokens == 0
		a.Sample.Compare(g.readings(a))
		g.changed.agent(a.ID)
	}
}
