package tune

import (
	"context"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// none is a missing notice, or a missing compaction.
const none = -1

// cycle is a part of a session between compactions, as the engine saw it.
type cycle struct {
	session int32
	end     int32 // the point of the compaction that ended it, or none
	read    bool  // it has a reading
	own     bool  // the compaction is no copy
	trigger alerts.Trigger
	pre     int64 // the size at the compaction, 0 when unknown
}

// notices are the points at which notices were given in a cycle, or none.
type notices struct{ warning, critical int32 }

// trial runs engines with different thresholds over all sessions.
type trial struct {
	ctx      context.Context // ends it
	sessions []session
	groups   int
	options  alerts.Options // all but the thresholds
	cycles   []cycle        // of the last run: no threshold opens one
	thin     history.Thinner
}

func newTrial(ctx context.Context, o alerts.Options, groups int) *trial {
	return &trial{ctx: ctx, options: plainOptions(o), groups: groups}
}

// run returns the notices of an engine with these thresholds in each cycle.
func (r *trial) run(t alerts.Thresholds) ([]notices, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	o := r.options
	o.Thresholds = t
	engine, err := alerts.New(o)
	if err != nil {
		return nil, err
	}
	given := make([]notices, 0, len(r.cycles))
	r.cycles = r.cycles[:0]
	for i := range r.sessions {
		s := &r.sessions[i]
		p := player{
			points: s.points,
			cycle:  cycle{session: int32(i), end: none},
			given:  notices{none, none},
		}
		for j := range s.points {
			for _, action := range engine.Step(s.points[j].event) {
				if ended, last, ok := p.act(action, int32(j)); ok {
					r.cycles = append(r.cycles, ended)
					given = append(given, last)
				}
			}
			p.cycle.read = p.cycle.read || s.points[j].event.Kind == alerts.EventReading
		}
		r.cycles = append(r.cycles, p.cycle)
		given = append(given, p.given)
		engine.Forget(s.agent)
	}
	return given, nil
}

// player follows the current cycle of a session.
type player struct {
	points []point
	cycle  cycle
	given  notices
}

// act applies an action of the engine at a point. If that ended a cycle, it returns
// the cycle and its notices.
func (p *player) act(action alerts.Action, at int32) (ended cycle, given notices, ok bool) {
	switch x := action.(type) {
	case alerts.Say:
		switch x.Key.Kind {
		case alerts.KindWarning:
			p.given.warning = at
		case alerts.KindCritical:
			p.given.critical = at
		}
	case alerts.Opened:
		if x.Cause == alerts.CauseRewind {
			p.rewind(&p.points[at].event)
			return ended, given, false
		}
		ended = p.cycle
		ended.end = at
		ended.trigger = x.Trigger
		ended.pre = x.PreTokens
		ended.own = p.points[at].own
		given = p.given
		p.cycle = cycle{session: p.cycle.session, end: none}
		p.given = notices{none, none}

		// A notice for a reading that is newer than the compaction is of the new cycle.
		opened := transcript.InstantOf(x.At)
		move := func(from, to *int32) {
			if *from != none && opened != 0 && p.points[*from].at > opened {
				*to = *from
				*from = none
			}
		}
		move(&given.warning, &p.given.warning)
		move(&given.critical, &p.given.critical)
		return ended, given, true
	}
	return ended, given, false
}

// rewind drops the notices in the part of the conversation that a rewind has removed:
// the agent continues without them, in the same cycle.
func (p *player) rewind(ev *alerts.Event) {
	for _, at := range []*int32{&p.given.warning, &p.given.critical} {
		if *at != none && p.points[*at].at > ev.Left && p.points[*at].at <= ev.Until {
			*at = none
		}
	}
}
