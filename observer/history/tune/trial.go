package tune

import (
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/history"
	"sm/observer/history/report"
	"sm/transcript"
)

// The units of thresholds.
const (
	inPercent = "percent" // of the window
	inTokens  = "tokens"
)

// step is one threshold to try.
type step struct {
	unit string
	at   int64
}

// reached reports whether a context has reached a step.
func (s step) reached(v *alerts.View) bool {
	limit := s.at
	if s.unit == inPercent {
		limit = transcript.Window{Tokens: v.Window}.Reaches(int(s.at))
	}
	return limit > 0 && v.Tokens >= limit
}

// none is a threshold that is disabled.
const none = -1

// pair has the indexes of the steps of a warning and a critical notice, or
// none.
type pair struct{ warning, critical int }

// trial finds the notices that each step alone would cause. The two notices of
// a pair are independent, so those of a pair follow from two steps.
type trial struct {
	steps    []step
	engine   *alerts.Engine
	forecast forecaster
	cycles   []cycle // the cycles that count
	// counted has the counts that are the same for all pairs.
	counted Grid
	agents  map[string]bool // agents with a reading of their own
}

// cycle is a part of a session between compactions.
type cycle struct {
	end   *point   // the compaction; nil for a cycle that is over without one
	size  int64    // of the context at the compaction, 0 when unknown
	given []*point // by step: its notice, nil for none
}

// point is the progress of a session at an event.
type point struct {
	event  int
	tokens int64
	read   transcript.Instant // time of the reading with this size
	turns  int
	// replies and turns are counted from the beginning of the session; work is
	// the time without longer pauses, in seconds.
	replies int
	work    float32
}

func newTrial(o alerts.Options, steps []step) (*trial, error) {
	engine, err := alerts.New(o)
	return &trial{
		steps:  steps,
		engine: engine,
		agents: map[string]bool{},
	}, err
}

// notices returns the notices of a pair. A critical notice replaces a warning
// that has not come before it.
func (c *cycle) notices(p pair) (warning, critical *point) {
	if p.critical != none {
		critical = c.given[p.critical]
	}
	if p.warning != none {
		warning = c.given[p.warning]
	}
	if warning != nil && critical != nil && warning.event >= critical.event {
		warning = nil
	}
	return warning, critical
}

// add replays a session.
func (r *trial) add(t *history.Timeline) {
	id := t.Events[0].Agent
	p := player{trial: r, session: t}
	p.begin()
	for i, ev := range t.Events {
		ev.CompactsAt = 0 // forecasts depend on observed compactions alone
		now := p.pass(i, &ev)
		r.forecast.expect(r.engine, t, i)
		for _, action := range r.engine.Step(ev) {
			if x, ok := action.(alerts.Opened); ok {
				p.open(&x, &ev, now)
			}
		}
		if ev.Kind == alerts.EventReading {
			p.read = true
			if t.First[i] {
				r.agents[id] = true
			}
		}
		if ev.Kind == alerts.EventCompacted && t.First[i] {
			*r.counted.Compactions.By(ev.Trigger.String())++
			r.counted.Unseen++
		}
		p.look(now)
	}
	if p.read && t.Active {
		r.counted.Active++
	}
	if p.read && t.Open {
		r.counted.Cycles++
		r.cycles = append(r.cycles, p.cycle)
	}
	r.engine.Forget(id)
	r.forecast.turns = nil
}

// player follows the present cycle of a session.
type player struct {
	*trial
	session *history.Timeline
	cycle   cycle
	read    bool // the cycle has a reading

	last  point // the newest progress
	clock time.Time
	work  float64
	size  int64
}

func (p *player) begin() {
	p.cycle = cycle{given: make([]*point, len(p.steps))}
	p.read = false
}

// pass applies an event to the progress, and returns it.
func (p *player) pass(i int, ev *alerts.Event) point {
	if ev.At.After(p.clock) {
		if !p.clock.IsZero() {
			p.work += min(ev.At.Sub(p.clock), alerts.Pause).Seconds()
		}
		p.clock = ev.At
	}
	switch ev.Kind {
	case alerts.EventTurnStart:
		p.last.turns++
	case alerts.EventReading:
		if ev.Tokens != p.size { // the lines of one reply have the same size
			p.last.replies++
		}
		p.size = ev.Tokens
	case alerts.EventReset:
		p.size = ev.Tokens
	case alerts.EventCompacted:
		p.size = 0
	}
	p.last.event = i
	p.last.work = float32(p.work)
	return p.last
}

// look records the steps that the context has reached.
func (p *player) look(now point) {
	v := p.engine.Agent(p.session.Events[now.event].Agent)
	if !v.Known {
		return
	}
	now.tokens = v.Tokens
	now.read = v.Reading.At
	for i, s := range p.steps {
		if p.cycle.given[i] == nil && s.reached(&v) {
			p.cycle.given[i] = &now
		}
	}
}

// open ends a cycle, or returns to a part of it.
func (p *player) open(x *alerts.Opened, ev *alerts.Event, now point) {
	if x.Cause == alerts.CauseRewind { // the agent continues without the later part
		for i, at := range p.cycle.given {
			if at != nil && at.read > ev.Left && at.read <= ev.Until {
				p.cycle.given[i] = nil
			}
		}
		return
	}
	ended := p.cycle
	counts := p.read && p.session.First[now.event]
	p.begin()
	// A notice for a reading that is newer than the compaction is of the new cycle.
	if opened := transcript.InstantOf(x.At); opened != 0 {
		for i, at := range ended.given {
			if at != nil && at.read > opened {
				p.cycle.given[i] = at
				ended.given[i] = nil
			}
		}
	}
	if !counts {
		return
	}
	p.counted.Cycles++
	p.counted.Unseen--
	if x.Trigger.Forced() {
		ended.end = &now
		ended.size = x.PreTokens
		p.cycles = append(p.cycles, ended)
	}
}

// ladderOf returns the steps: percentages in fives, tokens up to the 90th
// percentile of sizes at compactions, and the thresholds to compare with.
func ladderOf(sizes []int64, compared ...alerts.Thresholds) []step {
	var percent, tokens []int64
	for p := int64(percentFrom); p <= percentTo; p += percentStep {
		percent = append(percent, p)
	}
	if top := history.NearestRank(sizes, 0.9); top != nil {
		width := report.Widened(5000, 0, *top, tokenSteps+1)
		for n := max(width, *top*percentFrom/100/width*width); n <= *top; n += width {
			tokens = append(tokens, n)
		}
	}
	for _, t := range compared {
		percent = append(percent, int64(t.WarningPercentage), int64(t.CriticalPercentage))
		tokens = append(tokens, t.WarningTokens, t.CriticalTokens)
	}
	var steps []step
	add := func(unit string, list []int64) {
		slices.Sort(list)
		for _, n := range slices.Compact(list) {
			if n > 0 {
				steps = append(steps, step{unit, n})
			}
		}
	}
	add(inPercent, percent)
	add(inTokens, tokens)
	return steps
}

// pairOf returns the steps of two thresholds.
func (r *trial) pairOf(t alerts.Thresholds) pair {
	index := func(tokens int64, percentage int) int {
		if tokens > 0 {
			return slices.Index(r.steps, step{inTokens, tokens})
		}
		return slices.Index(r.steps, step{inPercent, int64(percentage)})
	}
	return pair{
		warning:  index(t.WarningTokens, t.WarningPercentage),
		critical: index(t.CriticalTokens, t.CriticalPercentage),
	}
}
