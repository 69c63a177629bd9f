package observer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/levels"
	"sm/observer/rereads"
	"sm/transcript/wording"
)

// act carries out the actions of the engine.
func (c *core) act(actions []alerts.Action, now time.Time) {
	for _, action := range actions {
		switch x := action.(type) {
		case alerts.Deliver:
			c.deliverNotice(x, now)
		case alerts.Withdraw:
			c.queue.Withdraw(func(m *outbox.Message) bool {
				return slices.Contains(x.Keys, m.Key)
			}, now)
		case alerts.SetLevel:
			c.setLevel(x.Agent)
		case alerts.Remind:
			c.remind(&x, now)
		case alerts.Skip:
			for _, id := range x.Reminders {
				c.engine.Skipped(c.takeBack(x.Agent, sayings+id+"/", now))
			}
		case alerts.Opened:
			if x.Cause == alerts.CauseCompaction || x.Cause == alerts.CauseRewind {
				c.rotate(rotation.Compacted{Agent: x.Agent, At: now})
			}
			c.takeBack(x.Agent, handoffRef, now) // about the context that is over
			c.agents.curve(x.Agent, now).Cycle(&x)
			c.log.Info("new cycle", "agent", x.Agent, "cycle", x.Cycle, "cause", x.Cause, "trigger", x.Trigger,
				"pre_tokens", x.PreTokens, "warned", x.Warned, "unconfirmed", x.Unconfirmed)
		}
	}
}

// deliverNotice delivers a notice to its recipient.
func (c *core) deliverNotice(s alerts.Deliver, now time.Time) {
	key := s.Key
	if key.Kind == alerts.KindNoData {
		if v, _ := c.fleet.View(key.Agent, now); v.Waits {
			return // the agent waits for a person
		}
	}
	c.log.Info(
		"notice",
		"key", key,
		"to", s.To.Role,
		"mode", s.Mode,
		"at", s.At,
		"dry_run", c.dryRun,
	)
	if c.dryRun {
		return
	}
	c.edits.Add(1)
	if key.Kind != alerts.KindCompacted { // a compaction has a mark on the curve already
		tokens := c.engine.Agent(key.Agent).Tokens
		c.agents.curve(key.Agent, now).Note(s.At, key.Kind.String(), "", tokens)
	}
	c.withReread(&s, now)
	if s.To.Role == alerts.Operator {
		c.operator(key.String(), s.Text, s.Plain)
		return
	}
	made := s.At // the time of the cause, which a first start reads later
	if made.IsZero() || made.After(now) || now.Sub(made) > replayedWithin {
		made = now
	}
	c.put(outbox.Message{
		Key:   key,
		To:    c.agentOf(s.To.Agent), // a parent may be named by its name or label
		Mode:  s.Mode,
		Text:  s.Text,
		Plain: s.Plain,
	}, made)
}

// replayedWithin is the maximum age of a notice's cause for the notice to count
// as made at that time.
const replayedWithin = time.Hour

// put queues a message of sm's own.
func (c *core) put(m outbox.Message, made time.Time) {
	if _, err := c.queue.Put(m, made); err != nil {
		c.log.Error(
			"a message cannot be queued",
			"agent", m.To,
			"ref", m.Ref,
			"key", m.Key,
			"err", err,
		)
	}
}

// withReread adds the files that the agent may need again to its own critical
// notice.
func (c *core) withReread(s *alerts.Deliver, now time.Time) {
	if s.Key.Kind != alerts.KindCritical || s.To.Role != alerts.Self {
		return
	}
	names := c.reread(s.To.Agent, now)
	if len(names) == 0 {
		return
	}
	needed := " After past compactions you needed: " + strings.Join(names, ", ") + "."
	if s.Text += needed; s.Plain != "" {
		s.Plain += needed
	}
}

// reread returns the files that an agent may need again, nil if the settings
// disallow it.
func (c *core) reread(agent string, now time.Time) []string {
	if !c.settings.Rereads {
		return nil
	}
	v, err := c.fleet.View(agent, now)
	if err != nil {
		return nil
	}
	return rereads.Names(&v, c.fleet.All(now))
}

func (c *core) tick(now time.Time) {
	actions, next := c.engine.Tick(now)
	c.next = now.Add(askEvery)
	if !next.IsZero() && next.Before(c.next) {
		c.next = next
	}
	c.act(actions, now)
}

// setLevels marks all level files for writing.
func (c *core) setLevels() {
	c.allLevels = true
	c.levels = map[string]string{}
	for _, id := range c.engine.IDs() {
		c.setLevel(id)
	}
}

// setLevel marks the level file of an agent for writing, or for removal if
// there is no such agent.
func (c *core) setLevel(agent string) {
	line := ""
	if v := c.engine.Agent(agent); v.Cycle > 0 {
		line = levels.Line(&v)
	}
	c.levels[agent] = line
}

// remind queues the message of a due reminder. Each repetition has its own Ref,
// so that it is queued only once.
func (c *core) remind(due *alerts.Remind, now time.Time) {
	r := &due.Reminder
	if due.Forced {
		c.log.Warn(
			"a reminder does not wait any longer for the end of a compaction",
			"agent", r.Agent,
			"id", r.ID,
			"late", due.Late,
		)
	}
	if c.dryRun {
		c.log.Info("reminder", "agent", r.Agent, "id", r.ID, "mode", due.Mode, "dry_run", true)
		return
	}
	r.Agent = c.agentOf(r.Agent)
	ref := sayings + r.ID + "/"
	c.takeBack(r.Agent, ref, now) // a new text replaces earlier ones
	c.put(outbox.Message{
		To:        r.Agent,
		From:      r.From,
		Ref:       fmt.Sprint(ref, r.Made, "/", r.Times),
		Mode:      due.Mode,
		Text:      wording.Remind + r.Text,
		OwnWords:  r.Own(),
		Unmetered: true,
	}, now)
}

// sayings is the prefix of Message.Ref for reminders.
const sayings = "reminder/"
