package observer

import (
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/levels"
)

// rules has the engine judge what happens to agents, and does what it decides: notices, levels, reminders and cycles.
type rules struct {
	*parts
	handoffs *handoffs
	ticked   time.Time // when the engine was asked last, and
	next     time.Time // when it wants to be asked
}

// act does what the engine decided.
func (p *rules) act(actions []alerts.Action, now time.Time) {
	for _, action := range actions {
		switch x := action.(type) {
		case alerts.Say:
			p.say(x, now)
		case alerts.Withdraw:
			p.queue.Withdraw(x.Keys, now)
		case alerts.SetLevel:
			p.effects.add(levelOf(x))
		case alerts.Remind:
			p.remind(&x, now)
		case alerts.Skip:
			p.skip(&x, now)
		case alerts.Opened:
			p.handoffs.opened(&x, now)
			p.agents.opened(&x, now)
			p.log.Info("new cycle", "agent", x.Agent, "cycle", x.Cycle, "cause", x.Cause, "trigger", x.Trigger,
				"pre_tokens", x.PreTokens, "warned", x.Warned, "unconfirmed", x.Unconfirmed)
		}
	}
}

// say delivers a notice to its recipient.
func (p *rules) say(s alerts.Say, now time.Time) {
	p.log.Info("notice", "key", s.Key, "to", s.To.Role, "mode", s.Mode, "at", s.At, "dry_run", p.dryRun)
	if p.dryRun {
		return
	}
	p.note(&s, now)
	if s.To.Role == alerts.Operator {
		p.operator(s.Key.String(), s.Text)
		return
	}
	if s.Key.Kind == alerts.KindCritical {
		p.handoffs.rotateByItself(s.To.Agent, now)
	}
	to := s.To.Agent
	if agent, err := p.fleet.Agent(string(to), true); err == nil {
		to = agent // a parent may be named by its name or session
	}
	if _, err := p.queue.Put(outbox.Message{Key: s.Key, To: to, Mode: s.Mode, Text: s.Text, Plain: s.Plain}, now); err != nil {
		p.log.Error("a notice cannot be queued", "key", s.Key, "err", err)
	}
}

// note marks a notice on the curve of whom it is about.
func (p *rules) note(s *alerts.Say, now time.Time) {
	p.edits.Add(1)
	v, _ := p.engine.Agent(s.Key.Agent)
	p.agents.said(s, v.Tokens, now)
}

func (p *rules) ask(now time.Time) {
	p.ticked = now
	var actions []alerts.Action
	actions, p.next = p.engine.Tick(now)
	p.act(actions, now)
}

// levels writes all level files anew: they are no more than a picture of the state.
func (p *rules) levels() {
	known := clearEffect{}
	for _, a := range p.engine.Agents() {
		known[levels.Name(string(a.Agent))] = true
		p.level(a.Agent)
	}
	p.effects.add(known)
}

// level writes the level file of an agent anew.
func (p *rules) level(agent alerts.AgentID) {
	if v, known := p.engine.Agent(agent); known {
		p.effects.add(levelOf(alerts.SetLevel{Agent: v.Agent, Level: v.Level, Percent: v.Percent, Tokens: v.Tokens, Known: v.Known}))
	}
}
