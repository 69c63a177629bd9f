package transcripttest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"sm/transcript"
)

// CopyKind is a way in which a transcript gets records of another one.
type CopyKind string

// The kinds.
const (
	None CopyKind = ""
	// Resumed is the resume of early clients: the history in a new file, with the
	// same uuids and times and another session id.
	Resumed CopyKind = "resumed"
	// Restamped is Resumed with new uuids and times for assistant records (1.0.120).
	Restamped CopyKind = "restamped"
	// Forked is --fork-session. 2.1.197 copies from the last boundary on, with the
	// usage of preserved messages set to 0, after the first new reply; 2.1.270
	// copies everything first.
	Forked CopyKind = "forked"
	// Branched is /branch: uuids stay, and records name their origin.
	Branched CopyKind = "branched"
	// SDKForked has new uuids, names the origin, and a new time for the last record.
	SDKForked CopyKind = "sdk-forked"
	// Anonymous has new uuids and does not name the origin; times stay.
	Anonymous CopyKind = "anonymous"
	// Continued is a new file after an automatic compaction. It begins with the
	// summary, behind the one that the file before began with.
	Continued CopyKind = "continued"
)

// Copies lists the ways in which the session can be copied. A resume that changes
// the times of readings is left out behind a compaction, which would seem older.
func (s *Session) Copies() []CopyKind {
	if s.forgets {
		return nil
	}
	all := []CopyKind{Resumed, Restamped, Forked, Branched, SDKForked, Anonymous, Continued}
	return slices.DeleteFunc(all, func(k CopyKind) bool {
		return !s.client.is(string(k)) || k == Restamped && !s.books.file.Known
	})
}

// spawn begins another session of the same client.
func (s *Session) spawn(w io.Writer) *Session {
	n := newSession(w, s.rng, s.prose, SessionOptions{
		Cwd:     s.cwd,
		Model:   s.model,
		Version: s.client.version,
		Start:   s.now,
	})
	n.project = s.project
	n.forgets = s.forgets
	return n
}

// Copy begins a session in another file, written to w, with records of this one. It
// returns nil for a kind that is not among [Session.Copies].
func (s *Session) Copy(w io.Writer, kind CopyKind) *Session {
	if !slices.Contains(s.Copies(), kind) {
		return nil
	}
	s.Pass(time.Minute)
	n := s.spawn(w)
	n.context = s.context
	n.output = s.output
	n.books.file.Origin = s.books.file.SessionID
	n.books.file.Family = s.books.file.Family
	n.books.file.CopyKind = kind
	switch {
	case kind == Continued:
		s.continueIn(n)
	case kind == Forked && s.client.is("forks-begin-new"):
		s.forkNewFirst(n)
	default:
		s.copyAll(n, kind)
	}
	return n
}

// history returns the records that a copy takes over.
func (s *Session) history() []*record {
	return slices.DeleteFunc(
		slices.Clone(s.kept),
		func(r *record) bool { return r.effect.side },
	)
}

func (s *Session) copyAll(n *Session, kind CopyKind) {
	renamed := map[string]string{}
	history := s.history()
	for _, r := range history {
		if kind == SDKForked || kind == Anonymous ||
			kind == Restamped && r.effect.deed == reads {
			renamed[r.uuid] = newUUID(n.rng)
		}
	}
	for i, r := range history {
		c := r.clone()
		c.uuid = cmp.Or(renamed[r.uuid], r.uuid)
		c.parent = cmp.Or(renamed[r.parent], r.parent)
		for name, value := range c.values {
			c.values[name] = cmp.Or(renamed[value], value)
		}
		if kind == Branched || kind == SDKForked {
			c.more += fmt.Sprintf(
				`,"forkedFrom":{"sessionId":%q,"messageUuid":%q}`,
				s.id,
				r.uuid,
			)
		}
		last := i == len(history)-1
		if kind == Restamped && r.effect.deed == reads ||
			kind == SDKForked && last && r.effect.deed != compacts {
			c.at = n.now
		}
		n.writeCopy(c)
	}
}

func (s *Session) writeCopy(r *record) {
	r.effect.copied = true
	s.write(r)
}

func (s *Session) continueIn(n *Session) {
	if s.head != nil {
		n.writeCopy(s.head.clone())
	}
	n.Pass(10 * time.Second)
	r := n.summary()
	r.effect.deed = compacts
	r.effect.trigger = transcript.Unknown
	n.head = r.clone()
	n.write(r)
	n.context = min(s.context, 25_000)
}

// forkNewFirst writes the reply to the first prompt of a fork, the copied records,
// and then that prompt.
func (s *Session) forkNewFirst(n *Session) {
	copied := s.sinceBoundary()
	if len(copied) > 0 {
		n.last = copied[len(copied)-1].uuid
	}
	prompt := n.prompted("")
	n.last = prompt.uuid
	reply := n.reply(n.message(Reply{}), `{"type":"text","text":"Done."}`, true)
	n.context = reply.effect.context
	n.output = reply.effect.tokens.Output
	n.write(reply)
	n.TurnDuration()
	last := n.last
	own := len(n.kept)
	for _, r := range copied {
		n.writeCopy(r)
	}
	n.write(prompt)
	n.last = last

	// Later copies are made in the order of the conversation.
	n.kept = slices.Concat(n.kept[own:], n.kept[:own])
}

// sinceBoundary returns what remains of a conversation after its last boundary: that
// and its summary, the preserved messages with their usage set to 0, and the rest.
func (s *Session) sinceBoundary() []*record {
	history := s.history()
	last := len(history) - 1
	for last >= 0 && !history[last].has("trigger") {
		last--
	}
	var head, rest []*record
	for _, r := range history[last+1:] {
		switch {
		case last >= 0 && r.boundary == history[last].uuid:
			head = append(head, r.clone())
		case r.boundary == "": // the late summary of an earlier compaction is omitted
			rest = append(rest, r.clone())
		}
	}
	if last < 0 {
		return rest
	}

	boundary := history[last].clone()
	boundary.effect.deed = compacts
	for _, r := range history[max(0, last-3):last] {
		if r.effect.deed == compacts || r.effect.deed == merges || r.boundary != "" {
			continue
		}
		c := r.clone()
		if c.effect.deed == reads {
			c.template = s.client.records["reply"][0]
			for _, name := range []string{
				"input",
				"creation",
				"read",
				"output",
				"created",
				"hour",
				"minutes",
			} {
				c.values[name] = "0"
			}
			c.effect = effect{}
		}
		head = append(head, c)
	}
	return slices.Concat([]*record{boundary}, head, rest)
}

// Sidechain writes a subagent's conversation into the session's own file, as early
// clients do.
func (s *Session) Sidechain(replies int) {
	if !s.client.is("sidechains") {
		return
	}
	last := s.last
	context := s.context
	output := s.output
	calls := s.calls
	s.side = true
	s.last = ""
	s.context = 6_000
	s.user(words(s.rng, 12), "")
	for range replies {
		s.Reply(Reply{Model: "claude-3-5-haiku-20241022"})
	}
	s.side = false
	s.last = last
	s.context = context
	s.output = output
	s.calls = calls
}

// Subagent begins the file of a subagent, written to w; nil if the client has none.
func (s *Session) Subagent(w io.Writer) *Session {
	n := s.subagent(w, newID(s.rng, "a"))
	if n != nil {
		n.user(words(n.rng, 12), "")
	}
	return n
}

func (s *Session) subagent(w io.Writer, agent string) *Session {
	if !s.client.is("subagents-beside") && !s.client.is("subagents") {
		return nil
	}
	n := s.spawn(w)
	n.id = s.id
	n.agent = agent
	n.books.file.SessionID = s.books.file.SessionID
	n.books.file.Family = s.books.file.SessionID
	n.context = 9_000
	return n
}

// Echo begins the file of a subagent that repeats the session's last messages, as
// that of an automatic compaction does; they count once.
func (s *Session) Echo(w io.Writer) *Session {
	n := s.subagent(w, newID(s.rng, "acompact-"))
	if n == nil {
		return nil
	}
	history := s.history()
	for _, r := range history[max(0, len(history)-6):] {
		if r.effect.deed == reads {
			c := r.clone()
			c.uuid = newUUID(n.rng)
			c.parent = n.last
			c.effect.side = true
			n.writeCopy(c)
		}
	}
	return n
}
