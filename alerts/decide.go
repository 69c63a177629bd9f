package alerts

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"sm/transcript"
)

// operatorCopy is the Ref of the operator's copy of a notice to a parent.
const operatorCopy = "operator"

// send sends a notice unless the agent is muted. The caller has checked that it
// was not sent before. A notice without a reachable recipient counts as
// covered: a parent that appears later does not get it.
func (e *Engine) send(a *AgentState, k Kind, at Instant, d Data) {
	if k != KindNoData {
		a.cover(k, at)
	}
	to := e.recipients(a, k)
	if a.Muted || len(to) == 0 {
		return
	}
	key := Key{
		Agent: a.Agent,
		Cycle: a.Cycle,
		Kind:  k,
	}
	if k == KindNoData {
		key.Ref = strconv.Itoa(a.Episodes)
	} else {
		a.Sent[k].Key = key
		a.Sent[k].Open = true
	}
	text, plain := e.text(k, d)
	modes := [Kinds]Mode{KindCritical: Urgent, KindStorm: Important}
	for _, t := range to {
		if t.Role == Operator && (k == KindStorm || len(to) > 1) {
			key.Ref = operatorCopy
		}
		deliver := Deliver{
			Key:   key,
			To:    t,
			Mode:  modes[k],
			Text:  text,
			Plain: plain,
			At:    at.Time(),
		}
		if t.Role == Operator && e.Title != nil {
			d.Name = e.Title(a.Agent)
			deliver.Text, _ = e.text(k, d)
			deliver.Plain = text
		}
		e.out = append(e.out, deliver)
	}
	e.counters.Notices[k]++
}

// recipients returns the recipients of a notice: the agent for its context, its
// parent or else, if configured, the operator for a compaction, both for a
// storm, and the operator for missing data. An agent that cannot be reached
// gets no notice. A parent gets reports while any agent can be reached; until
// the parent itself can be reached, the operator gets them as well.
func (e *Engine) recipients(a *AgentState, k Kind) (to []Target) {
	operator := Target{Role: Operator}
	switch {
	case k == KindNoData:
		return []Target{operator}
	case k != KindStorm && k != KindCompacted:
		if e.reaches(a.Agent) {
			to = []Target{{Self, a.Agent}}
		}
		return to
	case a.Parent != "" && a.Parent != a.Agent && e.reaches(""):
		to = []Target{{Parent, a.Parent}}
	}
	if k == KindStorm || e.options.OperatorCompactions && (to == nil || !e.reaches(a.Parent)) {
		to = append(to, operator)
	}
	return to
}

// cover marks a kind of notice as covered in this cycle.
func (a *AgentState) cover(k Kind, at Instant) {
	a.Sent[k].At = cmp.Or(a.Sent[k].At, at)
}

// withdraw takes back notices of these kinds that may still be queued.
func (e *Engine) withdraw(a *AgentState, list ...Kind) {
	var keys []Key
	for _, k := range list {
		if s := &a.Sent[k]; s.Open {
			s.Open = false
			keys = append(keys, s.Key)
		}
	}
	if keys != nil {
		e.out = append(e.out, Withdraw{Keys: keys})
	}
}

// contextKinds returns the kinds of notices to an agent about its own context.
func contextKinds() []Kind { return []Kind{KindWarning, KindCritical, KindForecast} }

// updateMuted applies Options.Disabled. Muting withdraws the notices of an
// agent; unmuting checks its context again if the reading is recent.
func (e *Engine) updateMuted(a *AgentState, t Instant) {
	muted := e.options.Disabled
	if muted == a.Muted {
		return
	}
	a.Muted = muted
	e.changed[a.Agent] = true
	if muted {
		e.withdraw(a, contextKinds()...)
		return
	}
	if e.present(a, t) {
		e.decide(a)
	}
}

// reaches reports whether notices can reach the agent, or any agent for "".
func (e *Engine) reaches(agent string) bool { return e.Reaches == nil || e.Reaches(agent) }

// SendUnsent sends the notices that an agent has missed, like Tick, once the
// agent can be reached.
func (e *Engine) SendUnsent(agent string) []Action {
	e.out = nil
	if a := e.agents[agent]; a != nil {
		e.sendUnsent(a)
	}
	return e.out
}

// sendUnsent sends the notices about the present context that were not sent
// because the agent could not be reached. Notices covered by the critical
// notice stay unsent.
func (e *Engine) sendUnsent(a *AgentState) {
	unsent := slices.DeleteFunc(contextKinds(), func(k Kind) bool {
		return a.Sent[k].At == 0 || a.Sent[k].Key.Agent != ""
	})
	if len(unsent) == 0 || a.Compacting || a.Sent[KindCritical].Key.Agent != "" ||
		!e.present(a, e.now) || !e.reaches(a.Agent) {
		return
	}
	for _, k := range unsent {
		a.Sent[k] = Sent{}
	}
	e.changed[a.Agent] = true
	e.decide(a)
}

// revise checks an agent against new settings. The reading is unchanged, so
// only new thresholds can change the level.
func (e *Engine) revise(a *AgentState) {
	was := a.Level
	now := e.levelOf(a)
	if now == was {
		return
	}
	e.changed[a.Agent] = true
	switch {
	case now > was && e.present(a, e.now):
		e.decide(a)
	case now < Warn:
		e.withdraw(a, KindWarning, KindCritical)
	case now < Critical:
		e.withdraw(a, KindCritical)
	}
}

// sameTurn is the maximum distance between the hook and the transcript record
// of one prompt.
const sameTurn = Instant(5 * time.Second)

// startTurn handles a prompt. Several sources may report the same prompt.
func (a *AgentState) startTurn(t Instant) {
	if t < a.Started || t < a.Ended || a.InTurn && t-a.Started <= sameTurn {
		return
	}
	a.Turns++
	a.InTurn = true
	a.Started = t
	a.Growth.turn()
	a.Growth.At = t
}

// endTurn handles the end of a turn.
func (a *AgentState) endTurn(t Instant) {
	if t < a.Started || t < a.Ended {
		return
	}
	a.InTurn = false
	a.Ended = t
	a.Silent = false
	a.Growth.pass(t)
	a.Growth.At = 0 // the agent is idle
	a.Growth.turn()
}

// activate records whether the client runs.
func (a *AgentState) activate(on bool, t Instant) {
	if t < a.Turned || on == a.Active {
		return
	}
	a.Active = on
	a.Turned = t
	if !on {
		a.Silent = false
	}
}

// busy reports whether readings are expected: the client runs, and is not known
// to be idle or compacting.
func (a *AgentState) busy() bool {
	return a.Active && (a.InTurn || a.Ended == 0) && !a.Compacting
}

// noDataDue returns the time at which missing readings cause a notice, 0 for
// never.
func (e *Engine) noDataDue(a *AgentState) Instant {
	if !a.busy() || a.Silent || a.Muted || e.options.NoDataAfter <= 0 {
		return 0
	}
	return a.lastSign() + Instant(e.options.NoDataAfter)
}

// lastSign returns the time of the newest reading or event of the agent's
// activity. Options.NoDataAfter counts from it.
func (a *AgentState) lastSign() Instant {
	return max(a.Data, a.Turned, a.Started, a.Attempted)
}

// sendNoData begins an episode without data and sends its notice.
func (e *Engine) sendNoData(a *AgentState, t Instant) {
	a.Silent = true
	a.Episodes++
	e.changed[a.Agent] = true
	d := a.data()
	d.Minutes = minutes(t - a.lastSign())
	e.send(a, KindNoData, t, d)
}

// minutes rounds a duration to minutes, at least 1.
func minutes(d Instant) int {
	return int(max(1, time.Duration(d).Round(time.Minute)/time.Minute))
}

// burstsKept is the minimum number of automatic compactions kept for detecting
// storms.
const burstsKept = 16

// count counts the compaction that opened the current cycle if it was
// automatic. A later sign can correct the count: a compaction may have another
// trigger than its attempt.
func (e *Engine) count(a *AgentState, o *Event, trigger Trigger) {
	if a.Made != transcript.Unknown && o.Trigger != transcript.Idle {
		return
	}
	a.Made = o.Trigger
	switch {
	case trigger == transcript.Auto && !a.Counted:
		a.Counted = true
		a.Bursts = newest(append(a.Bursts, Burst{
			At:   o.at,
			Turn: a.Turns,
		}), max(burstsKept, e.options.Storm.Count))
		count, turns := e.stormOf(a)
		switch {
		case count == 0:
			a.Storming = false
		case !a.Storming:
			e.storm(a, o.at, count, turns)
		}
	case (a.Made == transcript.Manual || a.Made == transcript.Idle) && a.Counted:
		a.Counted = false
		a.Bursts = a.Bursts[:len(a.Bursts)-1]
	}
}

// stormOf returns the number of automatic compactions in the storm that the
// latest one completes, 0 if it completes none. turns is set if the turns, not
// the time, make it a storm.
func (e *Engine) stormOf(a *AgentState) (count, turns int) {
	s := e.options.Storm
	last := a.Bursts[len(a.Bursts)-1]
	for _, b := range a.Bursts {
		if b.At > last.At-Instant(s.Within) {
			count++
		}
	}
	if s.Count > 0 && count >= s.Count {
		return count, 0
	}
	if len(a.Bursts) < 2 || a.Turns == 0 {
		return 0, 0 // no turn is recorded
	}
	if turns = last.Turn - a.Bursts[len(a.Bursts)-2].Turn + 1; turns <= s.Turns {
		return 2, turns
	}
	return 0, 0
}

// storm begins a storm and sends its notice, at most once a cycle.
func (e *Engine) storm(a *AgentState, at Instant, count, turns int) {
	a.Storming = true
	if a.Sent[KindStorm].At != 0 {
		return
	}
	e.counters.Storms++
	d := a.data()
	d.Count = count
	d.Turns = turns
	d.Minutes = minutes(Instant(e.options.Storm.Within))
	if n := len(a.Bursts); count > 0 && count <= n {
		d.Minutes = minutes(a.Bursts[n-1].At - a.Bursts[n-count].At)
	}
	e.send(a, KindStorm, at, d)
}
