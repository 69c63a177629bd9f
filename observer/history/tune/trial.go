package tune

import (
	"context"
	"slices"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// none is a notice that was not given, a missing step, or a missing compaction.
const none = -1

// cycle is a stretch of a session between compactions, as the engine saw it.
type cycle struct {
	session int32
	end     int32 // the beat of the compaction that ended it, none where the session just stops
	read    bool  // there was a reading in it
	own     bool  // the compaction happened in this session first
	trigger alerts.Trigger
	pre     int64 // the size at the compaction, 0 when unknown
}

// notices are the beats at which something was said in a cycle, or none.
type notices struct{ warning, critical int32 }

// trial runs an engine with some thresholds over all sessions.
type trial struct {
	ctx      context.Context // ends it
	sessions []played
	groups   int
	options  alerts.Options // all but the thresholds
	cycles   []cycle        // those of the first run: thresholds open none

	thin     history.Thinner
	clusters []cluster // reused
}

func newTrial(ctx context.Context, o alerts.Options, groups int) *trial {
	return &trial{ctx: ctx, options: plainOptions(o), groups: groups}
}

// run returns the notices of an engine with these thresholds in each cycle. With a
// step of a ladder, which must then be the only threshold, the engine gets only the
// beats that matter to that step, and no session that never reaches it.
func (r *trial) run(limits alerts.Thresholds, kind, step int) ([]notices, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	o := r.options
	o.Thresholds = limits
	engine, err := alerts.New(o)
	if err != nil {
		return nil, err
	}
	said := make([]notices, 0, len(r.cycles))
	var cycles []cycle
	for i := range r.sessions {
		s := &r.sessions[i]
		if step != none && s.cycles > 0 && step >= int(s.top[kind]) {
			said = append(said, slices.Repeat([]notices{{none, none}}, s.cycles)...)
			continue
		}
		p := player{cycle: cycle{session: int32(i), end: none}, said: notices{none, none}}
		before := len(said)
		for j := range s.beats {
			b := &s.beats[j]
			if step != none && !b.matters(kind, step) {
				continue
			}
			for _, action := range engine.Step(b.event(s.agent)) {
				if p.act(action, int32(j), s.beats) {
					cycles, said = append(cycles, p.ended), append(said, p.over)
				}
			}
			p.cycle.read = p.cycle.read || b.kind == alerts.EventReading
		}
		cycles, said = append(cycles, p.cycle), append(said, p.said)
		s.cycles = len(said) - before
		engine.Forget(s.agent)
	}
	if r.cycles == nil {
		r.cycles = cycles
	}
	return said, nil
}

// player keeps the present cycle of a session, and the cycle before it.
type player struct {
	cycle, ended cycle
	said, over   notices
}

// act takes what the engine did at a beat, and reports whether that ended a cycle.
func (p *player) act(action alerts.Action, at int32, beats []beat) bool {
	switch x := action.(type) {
	case alerts.Say:
		switch x.Key.Kind {
		case alerts.KindWarning:
			p.said.warning = at
		case alerts.KindCritical:
			p.said.critical = at
		}
	case alerts.Opened:
		if x.Cause == alerts.CauseRewind {
			p.forget(&beats[at], beats)
			return false
		}
		p.ended, p.over = p.cycle, p.said
		p.ended.end, p.ended.trigger, p.ended.pre, p.ended.own = at, x.Trigger, x.PreTokens, beats[at].own
		p.cycle = cycle{session: p.cycle.session, end: none}
		p.said = notices{none, none}
		// What was said by a reading that is newer than the compaction is of the new cycle.
		opened := transcript.InstantOf(x.At)
		keep := func(over, said *int32) {
			if *over != none && opened != 0 && beats[*over].at > opened {
				*over, *said = none, *over
			}
		}
		keep(&p.over.warning, &p.said.warning)
		keep(&p.over.critical, &p.said.critical)
		return true
	}
	return false
}

// forget drops the notices in the part of the conversation that a rewind has taken back: the agent goes on without them,
// in the same cycle.
func (p *player) forget(back *beat, beats []beat) {
	for _, said := range []*int32{&p.said.warning, &p.said.critical} {
		if *said != none && beats[*said].at > back.left && beats[*said].at <= back.until {
			*said = none
		}
	}
}

// steps runs one engine for each step of a ladder, with that as its only threshold.
func (r *trial) steps(l *ladder, kind int) ([][]notices, error) {
	var all [][]notices
	for i := range l[kind] {
		said, err := r.run(l.limits(kind, i, none), kind, i)
		if err != nil {
			return nil, err
		}
		all = append(all, said)
	}
	return all, nil
}

// together is what an engine with two thresholds says, by what engines say that have one of them: neither notice waits
// for the other, but where a reading reaches both, the critical notice takes the place of the warning.
func together(warning, critical []notices) []notices {
	both := make([]notices, len(warning))
	for i := range both {
		w, c := warning[i].warning, critical[i].warning
		if c != none && c <= w {
			w = none
		}
		both[i] = notices{w, c}
	}
	return both
}

// whole runs an engine with thresholds whose values are on the ladders, with all beats.
func (r *trial) whole(t alerts.Thresholds) ([]notices, error) {
	return r.run(t, none, none)
}
