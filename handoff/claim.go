package handoff

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Claimant is a session that starts and asks for a document.
type Claimant struct {
	Channel   Channel
	Agent     string
	SessionID string
	PID       int
}

// Claim gives the session that starts (startup, resume, clear) its document, if there is
// one: the agent's own active one; for an agent that has no entry at all the channel's
// current one, when it is active, claimed by nobody else, from within the channel's path,
// and free says of the agent that left it ("" when unknown) that its client has ended; a nil
// free says it of nobody. From then on it is this agent's alone, and the agent's next
// session gets it again until it is consumed. One older than the expiry is marked as
// expired.
//
// A *RejectedError, and any other error, means to start without. free is called with the
// documents locked: it must not use them.
func (d *Documents) Claim(c Claimant, now time.Time, free func(agent string) bool) (doc Document, ok bool, err error) {
	if c.Agent == "" || c.Channel.Name == "" {
		return Document{}, false, errors.New("a handoff document is for an agent in a channel; name both")
	}
	err = d.locked("claim handoff document", c.Channel.Name, now, nil, func(s *store, m *manifest) (err error) {
		if m.expire(now, d.expiry) {
			// Whatever comes of the claim; and a claim is stored on top of it.
			if err := s.commit(m, nil); err != nil {
				return err
			}
		}
		e, own := m.Agents[c.Agent]
		if !own {
			e = m.unclaimed(c, free)
		}
		if e == nil || e.Status != StatusActive || own && e.ClaimedBy != "" && e.ClaimedBy != c.Agent {
			return nil
		}
		doc, err = s.claim(m, e, own, c, now)
		ok = err == nil
		return err
	})
	return doc, ok, err
}

// claim gives an entry's document to an agent; own says that the entry is that agent's already.
func (s *store) claim(m *manifest, e *entry, own bool, c Claimant, now time.Time) (Document, error) {
	homes := []string{"", e.Agent, c.Agent} // the agents whose files may hold it; "" is the current file
	if own {
		homes = []string{c.Agent}
	}
	candidate, err := s.body(c.Channel.Name, e, homes...)
	if err != nil {
		return Document{}, err
	}
	m.every(e.ID, func(d *Document) {
		d.ClaimedBy, d.ClaimedBySession, d.ClaimedByPID, d.ClaimedAt = c.Agent, c.SessionID, c.PID, now.UTC().Truncate(time.Second)
	})
	doc := e.Document
	doc.Channel, doc.File, doc.Body = c.Channel.Name, candidate.File, candidate.Body
	doc.Current = m.Current != nil && m.Current.ID == e.ID
	files := map[string]string{}
	if !own {
		m.set(&m.Agents, c.Agent, e.Document)
		doc.File = s.place(files, &doc, c.Agent, "", doc.header()+doc.Body)
	}
	if err := s.commit(m, files); err != nil {
		return Document{}, err
	}
	return doc, nil
}

// expire marks what is too old, and says whether there was anything.
func (m *manifest) expire(now time.Time, expiry time.Duration) (changed bool) {
	for _, e := range m.entries() {
		if e.Status == StatusActive && e.expired(now, expiry) {
			e.Status, changed = StatusExpired, true
		}
	}
	return changed
}

// unclaimed is the current document if an agent without one may have it.
func (m *manifest) unclaimed(c Claimant, free func(string) bool) *entry {
	e := m.Current
	switch {
	case e == nil || e.Status != StatusActive || e.ClaimedBy != "" && e.ClaimedBy != c.Agent:
		return nil
	case c.Channel.Path != "" && e.WorkingDir != "" && !within(filepath.Clean(e.WorkingDir), filepath.Clean(c.Channel.Path)):
		return nil // another project whose path has the same name
	case e.ClaimedBy == "" && e.Agent != c.Agent && (free == nil || !free(e.Agent)):
		return nil
	}
	return e
}

// Consume notes that a session has heard the document: its transcript has it. A document
// is consumed once; a second time nothing changes. What was cleared stays so.
//
// Except for an executed one, whose own agent hears it in a session that is new, it must
// be the session that was given the document last, else the error is ErrOtherSession.
func (d *Documents) Consume(channel, id, session string, pid int, now time.Time) error {
	return d.locked("consume handoff document", channel, now, ErrNoDocument, func(s *store, m *manifest) error {
		known := m.find(id)
		switch {
		case known == nil:
			return fmt.Errorf("%s: %w", quoted(id), ErrNoDocument)
		case known.Status == StatusConsumed || known.Status == StatusCleared:
			return nil
		case !known.Executed && known.ClaimedBySession != "" && known.ClaimedBySession != session:
			return fmt.Errorf("%s, heard by session %s: %w", quoted(id), quoted(session), ErrOtherSession)
		}
		m.every(id, func(d *Document) {
			d.Status = StatusConsumed
			d.ConsumedByPID, d.ConsumedBySession, d.ConsumedAt = pid, session, now.UTC().Truncate(time.Second)
		})
		files := map[string]string{}
		owner := known.owner()
		last := m.Executed[owner]
		newest := owner != "" && (last == nil || !last.CreatedAt.After(known.CreatedAt))
		if doc, err := s.body(channel, known, owner, ""); err == nil && newest {
			m.set(&m.Executed, owner, known.Document)
			s.place(files, &doc, owner, executedMark, doc.header()+doc.Body)
		}
		return s.commit(m, files)
	})
}

// Withdraw takes a document back that no session has heard: its handoff has not run. One
// that was consumed, or is not there, stays as it is.
func (d *Documents) Withdraw(channel, id string, now time.Time) error {
	return d.locked("withdraw handoff document", channel, now, nil, func(s *store, m *manifest) error {
		if known := m.find(id); known == nil || known.Status != StatusActive || known.Executed {
			return nil
		}
		m.every(id, func(d *Document) { d.Status = StatusCleared })
		return s.commit(m, nil)
	})
}

// Last gives the newest document that the agent's handoffs ran with or that it has heard,
// of whatever age, for a session whose context was compacted. What was cleared is not
// given.
func (d *Documents) Last(channel, agent string, now time.Time) (doc Document, ok bool, err error) {
	err = d.locked("read handoff document", channel, now, nil, func(s *store, m *manifest) (err error) {
		e := m.Executed[agent]
		if e == nil || e.Status == StatusCleared {
			return nil
		}
		doc, err = s.firstOf(channel, e, agentFile(channel, agent, executedMark), besides(channel, agent, executedMark))
		ok = err == nil
		return err
	})
	return doc, ok, err
}
