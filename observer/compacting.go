package observer

import (
	"sm/alerts"
	"sm/alerts/outbox"
)

// compacting logs that an agent's client sets out to compact: how full its context is, and whether the agent had heard
// of that in time to hand over.
func (d *delivery) compacting(agent alerts.AgentID, trigger string) {
	v, _ := d.engine.Agent(agent) // of one that is not known nothing is
	notice := "too late"
	for _, m := range d.queue.Of(agent) {
		ours := m.Key.Agent == agent && m.Key.Cycle == v.Cycle && (m.Key.Kind == alerts.KindWarning || m.Key.Kind == alerts.KindCritical)
		switch {
		case !ours:
		case m.State == outbox.Confirmed:
			notice = "heard"
		case m.Offers > 0 && notice != "heard":
			notice = "offered"
		}
	}
	usage := []any{"agent", agent, "trigger", oneLine(trigger), "notice", notice}
	if v.Known {
		usage = append(usage, "tokens", v.Tokens, "window", v.Window, "used_percentage", v.Percent)
	}
	d.log.Warn("a compaction begins", usage...)
}
