package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sm/transcript"
)

// Claimant is a starting session that asks for a document.
type Claimant struct {
	Channel   Channel
	Agent     string
	SessionID string
	PID       int
}

// Claim gives a starting session (startup, resume, clear) its document, if there is one. It is
// the agent's own active document. An agent without any entry gets the channel's current one,
// if that is active, not claimed by another agent and from within the channel's path, and if
// the client of the agent that left it ("" for unknown) has ended, as free reports; with a nil
// free it has not. From then on the document is this agent's alone: its next session gets it
// again until it is consumed. Documents older than the expiry are marked as expired.
//
// After any error the session starts without a document. free is called with the documents
// locked and must not use them.
func (d *Documents) Claim(
	c Claimant,
	now time.Time,
	free func(agent string) bool,
) (doc Document, ok bool, err error) {
	channel := c.Channel.Name
	if c.Agent == "" || channel == "" {
		return Document{}, false, errors.New("a handoff document is for an agent in a channel; name both")
	}
	err = d.locked("claim handoff document", channel, func(s *store, m *manifest) (err error) {
		if m.expire(now, d.expiry) {
			// stored even if the claim fails
			if err := s.commit(m); err != nil {
				return err
			}
		}
		e, own := m.Agents[c.Agent]
		if !own {
			e = m.unclaimed(c, free)
		}
		if e == nil || e.Status != StatusActive ||
			e.ClaimedBy != "" && e.ClaimedBy != c.Agent {
			return nil
		}

		for _, e := range m.of(e.ID) {
			e.claim(c, now)
		}
		if doc, err = s.read(m, e); err != nil {
			return err
		}
		if !own {
			set(&m.Agents, c.Agent, e.Document)
		}
		err = s.commit(m)
		ok = err == nil
		return err
	})
	return doc, ok, err
}

// claim marks a document as given.
func (d *Document) claim(c Claimant, now time.Time) {
	d.ClaimedBy = c.Agent
	d.ClaimedBySession = c.SessionID
	d.ClaimedByPID = c.PID
	d.ClaimedAt = second(now)
}

// unclaimed returns the current document if an agent without one may have it.
func (m *manifest) unclaimed(c Claimant, free func(string) bool) *entry {
	e := m.Current
	switch {
	case e == nil || e.Status != StatusActive:
		return nil
	case c.Channel.Path != "" && e.WorkingDir != "" &&
		!transcript.Within(filepath.Clean(c.Channel.Path), filepath.Clean(e.WorkingDir)):
		return nil // another project with the same name
	case e.ClaimedBy == "" && e.Agent != c.Agent && (free == nil || !free(e.Agent)):
		return nil
	}
	return e
}

// Consume records that a session's transcript has the document. A second time nothing changes,
// nor for a cleared document.
//
// It must be the session that was given the document last. That does not hold for an executed
// one, which its agent gets in a new session.
func (d *Documents) Consume(channel, id, session string, pid int, now time.Time) error {
	return d.locked("consume handoff document", channel, func(s *store, m *manifest) error {
		list := m.of(id)
		if len(list) == 0 {
			return fmt.Errorf("%s: %w", quoted(id), ErrNoDocument)
		}
		e := list[0]
		switch {
		case e.Status == StatusConsumed || e.Status == StatusCleared:
			return nil
		case !e.Executed && e.ClaimedBySession != "" && e.ClaimedBySession != session:
			return fmt.Errorf("%s was given to another session than %s, which will report that itself",
				quoted(id), quoted(session))
		}
		for _, e := range list {
			e.Status = StatusConsumed
			e.ConsumedByPID = pid
			e.ConsumedBySession = session
			e.ConsumedAt = second(now)
		}
		owner := cmp.Or(e.ClaimedBy, e.Agent)
		last := m.Executed[owner]
		if owner != "" && (last == nil || !last.CreatedAt.After(e.CreatedAt)) {
			set(&m.Executed, owner, e.Document)
		}
		return s.commit(m)
	})
}

// Withdraw clears an active document whose handoff has not run.
func (d *Documents) Withdraw(channel, id string) error {
	return d.locked("withdraw handoff document", channel, func(s *store, m *manifest) error {
		list := m.of(id)
		if len(list) == 0 || list[0].Status != StatusActive || list[0].Executed {
			return nil
		}
		for _, e := range list {
			e.Status = StatusCleared
		}
		return s.commit(m)
	})
}

// Last returns, for a session whose context was compacted, the document of the agent's last
// handoff or the last one it got, of any age, unless it was cleared.
func (d *Documents) Last(channel, agent string) (doc Document, ok bool, err error) {
	return d.read(channel, func(m *manifest) *entry {
		if e := m.Executed[agent]; e != nil && e.Status != StatusCleared {
			return e
		}
		return nil
	})
}

// Current returns the channel's newest document, with any status.
func (d *Documents) Current(channel string) (doc Document, ok bool, err error) {
	return d.read(channel, func(m *manifest) *entry { return m.Current })
}

// read returns a document that find chooses, if it chooses one.
func (d *Documents) read(
	channel string,
	find func(*manifest) *entry,
) (doc Document, ok bool, err error) {
	err = d.locked("read handoff document", channel, func(s *store, m *manifest) (err error) {
		if e := find(m); e != nil {
			doc, err = s.read(m, e)
			ok = err == nil
		}
		return err
	})
	return doc, ok, err
}
