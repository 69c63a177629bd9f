package tune

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// session is what a trial keeps of one session: the few points of a cycle that an
// engine needs to decide as it does with all events.
type session struct {
	agent  alerts.AgentID
	half   int
	group  int  // sessions of one group are not independent of each other
	open   bool // its last cycle counts, if no compaction ended it
	own    bool // it has a reading that is no copy
	points []point
}

// point is an event of a session, with the progress of the session by then.
type point struct {
	event alerts.Event
	at    transcript.Instant // as the engine stamps it: one without a time is newer than all before
	own   bool               // it is no copy

	// turns and replies count from the beginning; work adds up the time without
	// longer pauses, in seconds.
	turns   int32
	replies int32
	work    float32
}

// The ladders of thresholds: in percent of the window, and in tokens.
const (
	inPercent = iota
	inTokens
	ladders
)

// ladder lists the thresholds to try of each kind, rising.
type ladder [ladders][]int64

// thresholds returns two thresholds of a kind; 0 is none.
func thresholds(kind int, warning, critical int64) (t alerts.Thresholds) {
	if kind == inPercent {
		t.WarningPercentage = int(warning)
		t.CriticalPercentage = int(critical)
	} else {
		t.WarningTokens = warning
		t.CriticalTokens = critical
	}
	return t
}

// add keeps what a trial needs of a session.
func (r *trial) add(l *ladder, t *history.Timeline) {
	s := session{
		agent:  t.Events[0].Agent,
		half:   t.Half,
		group:  t.Group,
		open:   t.Open,
		points: l.points(&r.thin, t.Events, t.First),
	}
	if len(s.points) == 0 {
		return
	}
	for i := range t.Events {
		s.own = s.own || t.First[i] && t.Events[i].Kind == alerts.EventReading
	}
	r.sessions = append(r.sessions, s)
}

// points returns the events of a session that can matter to a threshold of the
// ladder. own marks those that are no copies.
func (l *ladder) points(n *history.Thinner, events []alerts.Event, own []bool) []point {
	var list []point
	var now progress
	n.Mark(events, func(i int, needless bool) {
		ev := &events[i]
		p := now.add(ev)
		p.own = own[i]
		reaches := now.reaches(l, ev)
		if !needless && history.Bears(ev) || reaches {
			list = append(list, p)
		}
	})
	return list
}

// progress adds up the events of a session.
type progress struct {
	clock   time.Time
	stamp   transcript.Instant // the engine's clock
	turns   int32
	replies int32
	work    float64
	size    int64
	late    bool         // the newest event is older than one before
	reached [ladders]int // steps in this cycle
}

func (p *progress) add(ev *alerts.Event) point {
	p.late = ev.At.Before(p.clock)
	if ev.At.After(p.clock) {
		if !p.clock.IsZero() {
			p.work += min(ev.At.Sub(p.clock), alerts.Pause).Seconds()
		}
		p.clock = ev.At
	}
	at := cmp.Or(transcript.InstantOf(ev.At), p.stamp+1)
	p.stamp = max(p.stamp, at)

	switch ev.Kind {
	case alerts.EventTurnStart:
		p.turns++
	case alerts.EventReading:
		if ev.Tokens != p.size { // the lines of one reply have the same size
			p.replies++
		}
		p.size = ev.Tokens
	case alerts.EventReset:
		p.size = ev.Tokens
		p.reached = [ladders]int{}
	case alerts.EventCompacted:
		p.size = 0
		p.reached = [ladders]int{}
	}
	kept := *ev
	kept.At = at.Time()
	kept.Model = ""   // no compaction teaches where a model compacts
	kept.Reserved = 0 // percentages are of the whole window
	return point{
		event:   kept,
		at:      at,
		turns:   p.turns,
		replies: p.replies,
		work:    float32(p.work),
	}
}

// reaches reports whether a reading is the first of its cycle to reach a step. The
// engine leaves out one that is written late, so that the next one may be the first
// as well.
func (p *progress) reaches(l *ladder, ev *alerts.Event) (first bool) {
	if ev.Kind != alerts.EventReading && ev.Kind != alerts.EventReset {
		return false
	}
	for kind := range ladders {
		n := p.reached[kind]
		for n < len(l[kind]) && thresholds(
			kind,
			l[kind][n],
			0,
		).Level(ev.Tokens, transcript.Window{
			Tokens: ev.Window,
		}, 0) >= alerts.Warn {
			n++
		}
		first = first || n > p.reached[kind]
		if !p.late {
			p.reached[kind] = n
		}
	}
	return first
}
