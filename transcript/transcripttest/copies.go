package transcripttest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways in which a transcript gets records of another one. There is also
// "resumed", the resume of early clients: the history in a new file, with the
// same uuids and times and another session id.
const (
	// Restamped is a resume with new uuids and times for assistant records (1.0.120).
	Restamped = "restamped"
	// Forked is --fork-session. 2.1.197 copies from the last boundary on, after the
	// first new reply; 2.1.270 copies everything first.
	Forked = "forked"
	// Branched is /branch: uuids stay, and records name their origin.
	Branched = "branched"
	// SDKForked has new uuids, names the origin, and a new time for the last record.
	SDKForked = "sdk-forked"
	// Anonymous has new uuids and does not name the origin; times stay.
	Anonymous = "anonymous"
	// Continued is a new file after an automatic compaction. It begins with the
	// summary.
	Continued = "continued"
)

// copies returns the ways in which the session can be copied. A resume that
// changes the times of readings is left out after a compaction, which would
// seem older.
func (s *Session) copies() []string {
	return slices.DeleteFunc(slices.Clone(s.client["copies"]), func(kind string) bool {
		return kind == Restamped && !s.truth.Known
	})
}

// Copy begins a session in another file with records of this one. The session's client
// must have this kind.
func (s *Session) Copy(kind string) *Session {
	s.pass(time.Minute)
	n := s.spawn()
	n.context = s.context
	n.output = s.output
	n.values["origin"] = s.ID()
	n.truth.Family = s.truth.Family
	switch {
	case kind == Continued:
		n.summarize()
		n.context = min(s.context, 25_000)
	case kind == Forked && s.is("forks-begin-new"):
		n.forkNewFirst(s.history())
	default:
		n.copyAll(s.history(), kind)
	}
	return n
}

// history returns the records that a copy takes over.
func (s *Session) history() []*record {
	return slices.DeleteFunc(slices.Clone(s.kept), func(r *record) bool { return r.side })
}

func (s *Session) writeCopy(r *record) {
	r.copied = true
	s.write(r)
}

// copyAll copies the history of another session.
func (s *Session) copyAll(history []*record, kind string) {
	renamed := map[string]string{}
	for _, r := range history {
		if kind == SDKForked || kind == Anonymous ||
			kind == Restamped && r.usage != (Tokens{}) {
			renamed[r.uuid] = strconv.Quote(newUUID(s.rng))
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
			c.template = strings.TrimSuffix(r.template, "}") +
				`,"forkedFrom":{"sessionId":"$origin","messageUuid":$copy}}`
			c.values["origin"] = s.values["origin"]
			c.values["copy"] = r.uuid
		}
		last := i == len(history)-1
		if kind == Restamped && renamed[r.uuid] != "" ||
			kind == SDKForked && last && !r.compacts {
			c.at = s.now
		}
		s.writeCopy(c)
	}
}

// forkNewFirst writes the reply to the first prompt, the records of another session
// from its last boundary on, and then that prompt.
func (s *Session) forkNewFirst(history []*record) {
	first := 0
	for i, r := range history {
		if r.has("$trigger") {
			first = i
		}
	}
	prompt := s.prompt()
	if len(history) > 0 {
		prompt.parent = history[len(history)-1].uuid
	}
	s.last = prompt.uuid
	s.Reply()
	last := s.last
	own := len(s.kept)
	for _, r := range history[first:] {
		s.writeCopy(r.clone())
	}
	s.write(prompt)
	s.last = last

	// Later copies are made in the order of the conversation.
	s.kept = slices.Concat(s.kept[own:], s.kept[:own])
}

// sidechain writes a subagent's conversation into the session's own file, as early
// clients do.
func (s *Session) sidechain() {
	if !s.is("sidechains") {
		return
	}
	main := s.state
	s.state = state{values: maps.Clone(main.values), last: "null", context: 6_000}
	s.values["side"] = "true"
	s.values["model"] = "claude-3-5-haiku-20241022"
	s.emit("user", "words", 100)
	for range 1 + s.rng.IntN(3) {
		s.Reply()
	}
	s.state = main
}

// subagent begins the file of a subagent; it returns nil if the client has
// none.
func (s *Session) subagent(prefix string) *Session {
	if !s.is("subagents-beside") && !s.is("subagents") {
		return nil
	}
	n := s.spawn()
	n.truth.AgentID = newID(s.rng, prefix)
	n.truth.SessionID = s.ID()
	n.truth.Family = s.ID()
	n.values["session"] = s.ID()
	n.values["side"] = "true"
	n.values["agent"] = `"agentId":"` + n.truth.AgentID + `",`
	n.context = 9_000
	return n
}

// echo repeats the last messages of a session in the file of its subagent, as
// the subagent of an automatic compaction does; they count once.
func (s *Session) echo(history []*record) {
	for _, r := range history[max(0, len(history)-6):] {
		if r.usage != (Tokens{}) {
			c := r.clone()
			c.uuid = strconv.Quote(newUUID(s.rng))
			c.parent = s.last
			c.side = true
			s.writeCopy(c)
		}
	}
}
