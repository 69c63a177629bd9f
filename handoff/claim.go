package handoff

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
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
	if c.Agent == "" || c.Channel.Name == "" {
		return Document{}, false, errors.New("a handoff document is for an agent in a channel; name both")
	}
	err = d.locked("claim handoff document", c.Channel.Name, now, nil, func(s *store, m *manifest) (err error) {
		if m.expire(now, d.expiry) {
			// stored even if the claim fails
			if err := s.commit(m, nil); err != nil {
				return err
			}
		}
		e, own := m.Agents[c.Agent]
		if !own {
			e = m.unclaimed(c, free)
		}
		if e == nil || e.Status != StatusActive ||
			own && e.ClaimedBy != "" && e.ClaimedBy != c.Agent {
			return nil
		}
		doc, err = s.claim(m, e, own, c, now)
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
	d.ClaimedAt = now.UTC().Truncate(time.Second)
}

// claim gives an entry's document to an agent; own means that it is the agent's already.
func (s *store) claim(
	m *manifest,
	e *entry,
	own bool,
	c Claimant,
	now time.Time,
) (Document, error) {
	homes := []string{
		"",
		e.Agent,
		c.Agent,
	} // agents whose files may have it; "" is the current file
	if own {
		homes = []string{c.Agent}
	}
	candidate, err := s.body(c.Channel.Name, e, homes...)
	if err != nil {
		return Document{}, err
	}
	m.every(e.ID, func(d *Document) { d.claim(c, now) })
	doc := e.Document
	doc.Channel = c.Channel.Name
	doc.File = candidate.File
	doc.Body = candidate.Body
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

// expire marks documents that are too old, and reports whether there were any.
func (m *manifest) expire(now time.Time, expiry time.Duration) (changed bool) {
	for _, e := range m.entries() {
		if e.Status == StatusActive && e.expired(now, expiry) {
			e.Status = StatusExpired
			changed = true
		}
	}
	return changed
}

// unclaimed returns the current document if an agent without one may have it.
func (m *manifest) unclaimed(c Claimant, free func(string) bool) *entry {
	e := m.Current
	switch {
	case e == nil || e.Status != StatusActive || e.ClaimedBy != "" && e.ClaimedBy != c.Agent:
		return nil
	case c.Channel.Path != "" && e.WorkingDir != "" &&
		!within(filepath.Clean(e.WorkingDir), filepath.Clean(c.Channel.Path)):
		return nil // another project with the same name
	case e.ClaimedBy == "" && e.Agent != c.Agent && (free == nil || !free(e.Agent)):
		return nil
	}
	return e
}

// Consume records that a session's transcript has the document. A second time nothing changes,
// nor for a cleared document.
//
// It must be the session that was given the document last, else the error is ErrOtherSession.
// That does not hold for an executed one, which its agent gets in a new session.
func (d *Documents) Consume(channel, id, session string, pid int, now time.Time) error {
	return d.locked("consume handoff document", channel, now, ErrNoDocument, func(s *store, m *manifest) error {
		known := m.find(id)
		switch {
		case known == nil:
			return fmt.Errorf("%s: %w", quoted(id), ErrNoDocument)
		case known.Status == StatusConsumed || known.Status == StatusCleared:
			return nil
		case !known.Executed && known.ClaimedBySession != "" &&
			known.ClaimedBySession != session:
			return fmt.Errorf(
				"%s, read by session %s: %w",
				quoted(id),
				quoted(session),
				ErrOtherSession,
			)
		}
		m.every(id, func(d *Document) {
			d.Status = StatusConsumed
			d.ConsumedByPID = pid
			d.ConsumedBySession = session
			d.ConsumedAt = now.UTC().Truncate(time.Second)
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

// Withdraw clears an active document whose handoff has not run.
func (d *Documents) Withdraw(channel, id string, now time.Time) error {
	return d.locked("withdraw handoff document", channel, now, nil, func(s *store, m *manifest) error {
		if known := m.find(id); known == nil || known.Status != StatusActive ||
			known.Executed {
			return nil
		}
		m.every(id, func(d *Document) { d.Status = StatusCleared })
		return s.commit(m, nil)
	})
}

// Last returns, for a session whose context was compacted, the document of the agent's last
// handoff or the last one it got, of any age, unless it was cleared.
func (d *Documents) Last(
	channel, agent string,
	now time.Time,
) (doc Document, ok bool, err error) {
	err = d.locked("read handoff document", channel, now, nil, func(s *store, m *manifest) (err error) {
		e := m.Executed[agent]
		if e == nil || e.Status == StatusCleared {
			return nil
		}
		doc, err = s.firstOf(
			channel,
			e,
			agentFile(channel, agent, executedMark),
			besides(channel, agent, executedMark),
		)
		ok = err == nil
		return err
	})
	return doc, ok, err
}
