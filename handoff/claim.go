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

// Claim returns the document for a starting session (startup, resume, clear),
// if there is one. It is the agent's own active document. An agent without any
// entry gets the channel's current document if all of these hold: it is active;
// it is not claimed by another agent; it is from within the channel's path; and
// the client of the agent that left it ("" for unknown) has ended, as free
// reports. A nil free means that it has not ended. From then on the document
// belongs to this agent: its next session gets it again until it is consumed.
// Documents older than the expiry are marked as expired.
//
// After an error the session starts without a document. free is called with the
// documents locked and must not use them.
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
			// The expiry is stored even if the claim fails.
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

// claim records the session that gets a document.
func (d *Document) claim(c Claimant, now time.Time) {
	d.ClaimedBy = c.Agent
	d.ClaimedBySession = c.SessionID
	d.ClaimedByPID = c.PID
	d.ClaimedAt = second(now)
}

// unclaimed returns the current document if an agent without an entry may have
// it, else nil.
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

// Consume records that a session's transcript contains the document. Repeated
// calls change nothing, nor do calls for a cleared document.
//
// Only the session that got the document last may consume it, unless the
// document is executed: then its agent gets it in a new session.
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

// Withdraw clears an active document unless its handoff has been executed.
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

// Last returns the document of the agent's last handoff, or the last one it
// got, for a session whose context was compacted. The document may be of any
// age, but not cleared.
func (d *Documents) Last(channel, agent string) (doc Document, ok bool, err error) {
	return d.read(channel, func(m *manifest) *entry {
		if e := m.Executed[agent]; e != nil && e.Status != StatusCleared {
			return e
		}
		return nil
	})
}

// Current returns the channel's newest document, whatever its status.
func (d *Documents) Current(channel string) (doc Document, ok bool, err error) {
	return d.read(channel, func(m *manifest) *entry { return m.Current })
}

// read returns the document that find selects; ok is false if it selects none.
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
