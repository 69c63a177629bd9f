package transcripttest

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"time"
)

// CopyKind is a way in which one transcript comes to hold another one's records.
type CopyKind uint8

const (
	// None: nothing is copied.
	None CopyKind = iota
	// Resumed: early clients copied the history into a new file; uuids and times
	// are kept, the session id is rewritten.
	Resumed
	// Restamped: as Resumed, but assistant records get new uuids and the time of
	// the resume; message ids are kept (1.0.120).
	Restamped
	// Forked: --fork-session. 2.1.197 copies from the last boundary on, with the
	// usage of preserved messages set to 0, and writes the first new reply before
	// all that; 2.1.270 copies everything first.
	Forked
	// Branched: /branch keeps uuids and says where each record is from.
	Branched
	// SDKForked: the SDK gives new uuids and says where each record is from; the
	// last record gets a new time.
	SDKForked
	// Anonymous: a copy with new uuids that does not say where it is from, as other
	// programs make; times are kept.
	Anonymous
	// Continued: an automatic compaction goes on in a new file that begins with
	// the summary, after the summary that its predecessor began with, if any.
	Continued
)

// String names the kind.
func (k CopyKind) String() string {
	return [...]string{"none", "resumed", "restamped", "forked", "branched", "sdk-forked", "anonymous", "continued"}[k]
}

// Copies lists the ways in which the session's client copies. Anonymous is left out
// when a compaction could not be recognised in a copy without ids; a session that forgets
// cannot be copied at all.
func (s *Session) Copies() []CopyKind {
	if s.options.Forget {
		return nil
	}
	var kinds []CopyKind
	c := s.client
	for _, x := range []struct {
		kind   CopyKind
		copies bool
	}{
		{Resumed, c.in(0, 2_000_010)},
		{Restamped, c.in(1_000_113, 1_000_128)},
		{Forked, c.in(2_001_190, 0)},
		{Branched, c.in(2_001_123, 0)},
		{SDKForked, c.in(2_001_123, 0)},
		{Anonymous, !c.bare() && !s.unprovable},
		{Continued, c.continues()},
	} {
		if x.copies {
			kinds = append(kinds, x.kind)
		}
	}
	return kinds
}

// Copy begins a session in another file, written to w, that holds records of this
// one; the original may go on. It returns nil for a kind that is not among
// [Session.Copies].
func (s *Session) Copy(w io.Writer, kind CopyKind) *Session {
	if !slices.Contains(s.Copies(), kind) {
		return nil
	}
	s.Pass(time.Minute)
	n := s.spawn(w)
	n.slug, n.context, n.output, n.unprovable = s.slug, s.context, s.output, s.unprovable
	n.books.file.Origin, n.books.file.Family, n.books.file.CopyKind = s.books.file.SessionID, s.books.file.Family, kind
	switch {
	case kind == Continued:
		s.continueIn(n)
	case kind == Forked && s.client.newFirst():
		s.forkNewFirst(n)
	default:
		s.copyAll(n, kind)
	}
	return n
}

// copyAll copies the whole history.
func (s *Session) copyAll(n *Session, kind CopyKind) {
	renamed := map[string]string{}
	history := s.history()
	for _, r := range history {
		if kind == SDKForked || kind == Anonymous || kind == Restamped && r.assistant() {
			renamed[r.uuid] = newUUID(n.rng)
		}
	}
	for i, r := range history {
		c := *r
		c.uuid = cmp.Or(renamed[r.uuid], r.uuid)
		if kind == Branched || kind == SDKForked {
			c.forkedSession, c.forkedUUID = s.id, r.uuid
		}
		if kind == Restamped && c.assistant() || kind == SDKForked && i == len(history)-1 && c.effect.deed != compacts {
			c.at = n.now
		}
		c.parent = cmp.Or(renamed[r.parent], r.parent)
		if r.logical != "" {
			c.extra = bytes.Clone(c.extra)
			for from, to := range renamed {
				c.extra = bytes.ReplaceAll(c.extra, []byte(from), []byte(to))
			}
		}
		n.writeCopy(&c)
	}
}

// history are the records that a copy takes over: those of the session itself, as
// a client wrote them.
func (s *Session) history() []*record {
	return slices.DeleteFunc(slices.Clone(s.kept), func(r *record) bool { return r.side || r.odd })
}

func (s *Session) writeCopy(r *record) {
	r.effect.copied = true
	s.write(r)
}

// continueIn begins n with the summary of a compaction that happened between the
// two files.
func (s *Session) continueIn(n *Session) {
	n.Title()
	if s.head != nil {
		c := *s.head
		n.writeCopy(&c)
	}
	n.Pass(10 * time.Second)
	r := n.summary(n.last, Compaction{})
	r.effect = effect{deed: compacts, trigger: UnknownTrigger}
	n.head = r
	n.write(r)
	n.context = min(s.context, 25_000)
}

// forkNewFirst writes the reply to the fork's first prompt, then what is copied,
// then that prompt.
func (s *Session) forkNewFirst(n *Session) {
	n.Mode()
	copied := s.sinceBoundary()
	if len(copied) > 0 {
		n.last = copied[len(copied)-1].uuid
	}
	prompt := n.prompt("")
	n.last = prompt.uuid
	reply := n.lineOf(n.message(Reply{}), n.sentence(0), true)
	n.context, n.output = reply.effect.context, reply.effect.tokens.Output
	n.write(reply)
	n.TurnDuration()
	end := n.last
	for _, r := range copied {
		if r.effect.deed == begins {
			n.snapshot(r)
		}
	}
	for _, r := range copied {
		n.writeCopy(r)
	}
	n.write(prompt)
	// Later copies are made in the order of the conversation.
	n.kept = append(n.kept[2:len(n.kept):len(n.kept)], n.kept[:2]...)
	n.last = end
}

// sinceBoundary is what is left of a conversation after its last boundary: that and
// its summary, the preserved messages with their usage set to 0, and the rest; all
// of it when there is no boundary.
func (s *Session) sinceBoundary() []*record {
	history := s.history()
	last := -1
	for i, r := range history {
		if r.logical != "" {
			last = i
		}
	}
	var head, rest []*record
	for _, r := range history[last+1:] {
		c := *r
		switch {
		case last >= 0 && c.of == history[last].uuid:
			head = append(head, &c)
		case c.of == "": // an earlier compaction's late summary is left behind
			rest = append(rest, &c)
		}
	}
	if last < 0 {
		return rest
	}
	for _, r := range history[max(0, last-3):last] {
		c := *r
		if c.effect.deed == compacts || c.effect.deed == merges || c.of != "" {
			continue
		}
		if c.assistant() {
			c.usage = []byte(`{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}`)
			c.effect = effect{}
		}
		head = append(head, &c)
	}
	boundary := *history[last]
	boundary.effect.deed = compacts
	return append(append([]*record{&boundary}, head...), rest...)
}

// Replay appends the last n records again, as clients do that resume or compact a
// session: with the same uuids and times, so that they mean nothing.
func (s *Session) Replay(n int) {
	if s.client.bare() {
		return
	}
	history := s.history()
	for _, r := range history[max(0, len(history)-n):] {
		s.again(r)
	}
}

// Sidechain writes a subagent's conversation of some replies into the session's own
// file, as clients did up to 2.0.27.
func (s *Session) Sidechain(replies int) {
	if !s.client.inline() {
		return
	}
	last, context, output, calls := s.last, s.context, s.output, s.calls
	s.side, s.last, s.calls, s.context = true, "", nil, 6_000
	s.write(s.userText(words(s.rng, 12)))
	for range replies {
		s.Reply(Reply{Model: "claude-3-5-haiku-20241022"})
	}
	s.side, s.last, s.context, s.output, s.calls = false, last, context, output, calls
}

// Subagent begins a file of a subagent, written to w; nil where the client keeps
// none.
func (s *Session) Subagent(w io.Writer) *Session {
	n := 8
	if s.client.trailing() {
		n = 16
	}
	return s.subagent(w, newHex(s.rng, "a", n))
}

func (s *Session) subagent(w io.Writer, agent string) *Session {
	if !s.client.siblings() && !s.client.folder() {
		return nil
	}
	n := s.spawn(w)
	n.id, n.agent, n.slug, n.promptID = s.id, agent, s.slug, s.promptID
	n.books.file.SessionID, n.books.file.Family = s.books.file.SessionID, s.books.file.Family
	n.context = 9_000
	n.write(n.userText(words(n.rng, 12)))
	return n
}

// Echo begins a file of an internal subagent that repeats the session's last
// messages, as that of an automatic compaction does: they were paid once.
func (s *Session) Echo(w io.Writer) *Session {
	n := s.subagent(w, newHex(s.rng, "acompact-", 6))
	if n == nil {
		return nil
	}
	history := s.history()
	for _, r := range history[max(0, len(history)-6):] {
		if r.effect.deed == reads {
			c := *r
			c.uuid, c.parent = newUUID(n.rng), n.last
			n.writeCopy(&c)
		}
	}
	return n
}
