package tune

import (
	"cmp"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// beat is one event of a session that bears on thresholds, with how far the session had come by then.
type beat struct {
	at             transcript.Instant // as the engine stamps it: one without a time is newer than all before
	key            transcript.Key
	tokens, window int64              // tokens are the preTokens of a compaction, and what a rewind goes on from
	left, until    transcript.Instant // of a rewind: what was said between is no longer part of the conversation
	kind           alerts.EventKind
	trigger        alerts.Trigger
	needed         bool // whatever the thresholds are
	own            bool // of a compaction: it happened here first
	// reached are the thresholds of each ladder that this reading is the first of its cycle to reach: those numbered
	// from reached[ladder][0] up to, but not including, reached[ladder][1].
	reached [ladders][2]uint8
	// turns and replies count from the beginning, work adds up the time without longer pauses, in seconds.
	turns, replies int32
	work           float32
}

// played is what is kept of one session for all engines: a few beats a cycle.
type played struct {
	agent  alerts.AgentID
	half   int
	group  int  // sessions of one group are not independent of each other
	open   bool // its last cycle counts, if no compaction ended it
	first  bool // it has a reading of its own
	beats  []beat
	top    [ladders]uint8 // how many steps of each ladder its readings reach
	cycles int            // 0 before the first engine has counted them
}

// take keeps what matters of a session.
func (r *trial) take(l *ladder, t *history.Timeline) {
	beats := l.beats(&r.thin, t.Events, t.First)
	if len(beats) == 0 {
		return
	}
	s := played{agent: t.Events[0].Agent, half: t.Half, group: t.Group, open: t.Open, beats: slices.Clip(beats)}
	for i := range beats {
		for k := range ladders {
			s.top[k] = max(s.top[k], beats[i].reached[k][1])
		}
	}
	for i := range t.Events {
		s.first = s.first || t.First[i] && t.Events[i].Kind == alerts.EventReading
	}
	r.sessions = append(r.sessions, s)
}

// event is the beat as an event for the engine.
func (b *beat) event(agent alerts.AgentID) alerts.Event {
	ev := alerts.Event{Kind: b.kind, Agent: agent, At: b.at.Time(), Window: b.window}
	switch b.kind {
	case alerts.EventReading:
		ev.Tokens = b.tokens
	case alerts.EventReset:
		ev.Cause, ev.Tokens, ev.Left, ev.Until = alerts.CauseRewind, b.tokens, b.left, b.until
	default:
		ev.Sign, ev.Key, ev.Trigger, ev.PreTokens = alerts.SignBoundary, b.key, b.trigger, b.tokens
	}
	return ev
}

// The ladders: thresholds in percent of the window, and in tokens.
const (
	inPercent = iota
	inTokens
	ladders
)

// ladder lists the thresholds of each kind, rising.
type ladder [ladders][]int64

// limits are the thresholds of an engine that warns at one step and is critical at another, none for neither.
func (l *ladder) limits(kind, warning, critical int) (t alerts.Thresholds) {
	value := func(i int) int64 {
		if i == none {
			return 0
		}
		return l[kind][i]
	}
	if kind == inPercent {
		t.WarningPercentage, t.CriticalPercentage = int(value(warning)), int(value(critical))
	} else {
		t.WarningTokens, t.CriticalTokens = value(warning), value(critical)
	}
	return t
}

// beats keeps of a session's events what matters to thresholds of the ladder; first says of each whether it happened here.
func (l *ladder) beats(n *history.Thinner, events []alerts.Event, first []bool) []beat {
	var list []beat
	var now progress
	n.Mark(events, func(i int, needless bool) {
		ev := &events[i]
		b := now.beat(ev)
		b.needed, b.own = !needless, first[i]
		if ev.Kind == alerts.EventReading || ev.Kind == alerts.EventReset {
			l.climb(&now, &b)
		}
		if b.needed && history.Bears(ev) ||
			b.reached[inPercent][0] < b.reached[inPercent][1] || b.reached[inTokens][0] < b.reached[inTokens][1] {
			list = append(list, b)
		}
	})
	return list
}

// progress is how far a session has come.
type progress struct {
	clock          time.Time
	stamp          transcript.Instant // the engine's clock
	turns, replies int32
	work           float64
	size           int64
	late           bool         // the newest event is older than one before
	top            [ladders]int // the steps that have been reached in this cycle
}

// beat takes the next event.
func (p *progress) beat(ev *alerts.Event) beat {
	if p.late = ev.At.Before(p.clock); ev.At.After(p.clock) {
		if !p.clock.IsZero() {
			p.work += min(ev.At.Sub(p.clock), alerts.Pause).Seconds()
		}
		p.clock = ev.At
	}
	at := cmp.Or(transcript.InstantOf(ev.At), p.stamp+1)
	p.stamp = max(p.stamp, at)
	b := beat{at: at, window: ev.Window, kind: ev.Kind}
	switch ev.Kind {
	case alerts.EventTurnStart:
		p.turns++
	case alerts.EventReading:
		if ev.Tokens != p.size { // the lines of one reply have the same size
			p.replies++
		}
		p.size, b.tokens = ev.Tokens, ev.Tokens
	case alerts.EventReset:
		p.size, p.top = ev.Tokens, [ladders]int{}
		b.tokens, b.left, b.until = ev.Tokens, ev.Left, ev.Until
	case alerts.EventCompacted:
		p.size, p.top = 0, [ladders]int{}
		b.key, b.trigger, b.tokens = ev.Key, ev.Trigger, ev.PreTokens
	}
	b.turns, b.replies, b.work = p.turns, p.replies, float32(p.work)
	return b
}

// climb notes which steps a reading is the first to reach. One that is written late is left out by the engine, so that
// the next one may be the first as well.
func (l *ladder) climb(p *progress, b *beat) {
	for k := range ladders {
		to := p.top[k]
		for to < len(l[k]) && l.limits(k, to, none).Level(b.tokens, transcript.Window{Tokens: b.window}, 0) >= alerts.Warn { // by the engine's own rule
			to++
		}
		b.reached[k] = [2]uint8{uint8(p.top[k]), uint8(to)}
		if !p.late {
			p.top[k] = to
		}
	}
}

// matters reports whether an engine with a step of a ladder needs a beat.
func (b *beat) matters(kind, step int) bool {
	return b.needed || b.kind != alerts.EventReading || step >= int(b.reached[kind][0]) && step < int(b.reached[kind][1])
}
