package transcripttest

import (
	"bytes"
	"time"
)

// record is one line, kept in the parts that a copy of it may change.
type record struct {
	uuid, parent string
	logical      string // logicalParentUuid, of boundaries
	of           string // uuid of the boundary that a summary belongs to
	at           time.Time
	promptID     string
	// The body: members before the uuid, with the usage of an assistant message in
	// the middle, and members behind uuid and timestamp.
	front, usage, back, extra []byte
	stampFirst                bool // the timestamp stands before the uuid
	side                      bool // of a subagent, in the session's own file
	forkedSession, forkedUUID string
	whole                     []byte              // a line without envelope; all else is unset
	odd                       bool                // no client wrote it, so none copies it
	edit                      func([]byte) []byte // a last change to an odd line
	effect                    effect
}

// assistant reports whether the record carries an API message.
func (r *record) assistant() bool { return len(r.usage) > 0 }

// render appends the record as a line without its newline.
func (s *Session) render(b []byte, r *record) []byte {
	start := len(b)
	switch {
	case r.whole != nil:
		b = append(b, r.whole...)
	case s.client.bare():
		b = append(append(append(append(append(b, '{'), r.front...), r.usage...), r.back...), '}')
	default:
		b = s.renderEnveloped(append(b, '{'), r)
	}
	if r.edit == nil {
		return b
	}
	return append(b[:start], r.edit(bytes.Clone(b[start:]))...)
}

func (s *Session) renderEnveloped(b []byte, r *record) []byte {
	m := members(b).strOrNull("parentUuid", r.parent)
	if r.logical != "" {
		m = m.str("logicalParentUuid", r.logical)
	}
	m = m.flag("isSidechain", s.agent != "" || r.side)
	if s.client.trailing() {
		if r.promptID != "" {
			m = m.str("promptId", r.promptID)
		}
		if s.agent != "" {
			m = m.str("agentId", s.agent)
		}
	} else {
		m = append(append(m, ','), s.envelope()...)
	}
	m = append(append(append(append(m, ','), r.front...), r.usage...), r.back...)
	if r.stampFirst {
		m = m.timestamp(r.at).str("uuid", r.uuid)
	} else {
		m = m.str("uuid", r.uuid).timestamp(r.at)
	}
	if len(r.extra) > 0 {
		m = append(append(m, ','), r.extra...)
	}
	if s.client.trailing() {
		m = append(append(m, ','), s.envelope()...)
	}
	if r.forkedUUID != "" {
		m = m.open("forkedFrom").str("sessionId", r.forkedSession).str("messageUuid", r.forkedUUID).shut()
	}
	return append(m, '}')
}

// envelope is what all records of a session share until it changes.
func (s *Session) envelope() []byte {
	if s.shared != nil {
		return s.shared
	}
	m := members(nil).str("userType", "external")
	if s.client.trailing() {
		m = m.str("entrypoint", "cli")
	}
	m = m.str("cwd", s.cwd).str("sessionId", s.id).str("version", s.client.version)
	if s.client.branch() {
		m = m.str("gitBranch", s.branch)
	}
	if s.agent != "" && !s.client.trailing() {
		m = m.str("agentId", s.agent)
	}
	if s.slug != "" {
		m = m.str("slug", s.slug)
	}
	s.shared = m
	return s.shared
}

// write puts a record into the file and into the books.
func (s *Session) write(r *record) {
	s.putLine(r)
	s.account(r)
}

func (s *Session) putLine(r *record) {
	s.EndTail()
	s.line = append(s.render(s.line[:0], r), '\n')
	s.put(s.line)
	s.books.line(len(s.line))
}

// account books what a record says, and keeps it for copies.
func (s *Session) account(r *record) {
	e := r.effect
	e.side = r.side || s.agent != ""
	at := r.at
	if e.undated || s.client.bare() {
		at = time.Time{}
	}
	if r.whole != nil || s.client.bare() {
		s.books.seen(at, "", "")
	} else {
		s.books.seen(at, s.client.version, s.cwd)
	}
	s.books.book(&e, at)
	if r.uuid != "" {
		s.last = r.uuid
		if !s.options.Forget {
			s.kept = append(s.kept, r)
		}
	}
}

// again writes a record a second time: same uuid, no meaning.
func (s *Session) again(r *record) {
	s.putLine(r)
	s.books.seen(r.at, s.client.version, s.cwd)
}

// body begins a record whose members before the uuid are m.
func (s *Session) body(m members) *record {
	return &record{uuid: newUUID(s.rng), parent: s.last, at: s.tick(), front: m, side: s.side}
}
