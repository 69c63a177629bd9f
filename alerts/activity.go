package alerts

import (
	"strconv"
	"time"
)

// sameTurn is how far apart two tellings of one turn's begin may be: its hook, and
// its record in the transcript.
const sameTurn = Instant(5 * time.Second)

// startTurn takes a prompt.
func (a *AgentState) startTurn(t Instant) {
	if t < a.Started || t < a.Ended || a.InTurn && t-a.Started <= sameTurn {
		return
	}
	a.Turns++
	a.InTurn, a.Started = true, t
	a.Growth.turn()
	a.Growth.At = t
}

// endTurn takes the end of a turn.
func (a *AgentState) endTurn(t Instant) {
	if t < a.Started || t < a.Ended {
		return
	}
	a.InTurn, a.Ended, a.Silent = false, t, false
	a.Growth.rest(t)
	a.Growth.turn()
}

// activate takes whether the client runs.
func (a *AgentState) activate(on bool, t Instant) {
	if t < a.Turned || on == a.Active {
		return
	}
	a.Active, a.Turned = on, t
	if !on {
		a.Silent = false
	}
}

// busy says that the agent can be expected to show readings: its client runs, and is
// not known to rest or to compact.
func (a *AgentState) busy() bool {
	return a.Active && (a.InTurn || a.Ended == 0) && !a.Compacting
}

// silent is when the lack of readings becomes worth telling, 0 for never.
func (e *Engine) silent(a *AgentState) Instant {
	if !a.busy() || a.Silent || a.Muted || e.options.NoDataAfter <= 0 {
		return 0
	}
	return a.heard() + Instant(e.options.NoDataAfter)
}

// heard is the last sign of work or rest: what came before it says nothing of the silence since.
func (a *AgentState) heard() Instant { return max(a.Data, a.Turned, a.Started, a.Attempted) }

// silence warns the operator about an agent that works without showing readings.
func (e *Engine) silence(a *AgentState) {
	if t := e.silent(a); t != 0 && e.now >= t {
		e.sayNoData(a, t)
	}
}

// sayNoData says that a new episode has begun.
func (e *Engine) sayNoData(a *AgentState, t Instant) {
	a.Silent = true
	a.Episodes++
	e.changed[a.Agent] = struct{}{}
	d := a.data()
	if quiet := t - a.heard(); quiet > 0 && quiet < t {
		d.Minutes = minutes(quiet)
	} else {
		d.Minutes = minutes(Instant(e.options.NoDataAfter))
	}
	e.say(a, notice{kind: KindNoData, ref: strconv.Itoa(a.Episodes), at: t, operator: true, data: d})
}

// minutes rounds, to at least 1.
func minutes(d Instant) int { return int(max(1, time.Duration(d).Round(time.Minute)/time.Minute)) }
