package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// file is one transcript with the session that it belongs to.
type file struct {
	File
	of      *session
	backlog []past             // until Settle
	stamped transcript.Instant // the time of the newest reading or compaction
	ahead   transcript.Instant // the newest time that replaced one which could not be
	sub     bool               // a subagent's
	grew    bool               // while it was watched: see grows
}

// key returns the key of the session of a file: the session's id if the name
// contains it, else the path at which the file was first found. So files of the
// same name in two folders are two sessions.
func (x *file) key() string {
	switch {
	case x.sub && x.Parent != "":
		return x.Parent
	case x.sub:
		return x.Session.ID
	case x.Key == "" && isUUID(x.Name):
		return x.Name
	}
	return cmp.Or(x.Key, x.Cursor.Path)
}

// session is what belongs together under one key. One without files of its own
// waits for them, and has no views.
type session struct {
	key    string
	uuid   bool // the key is one, else a path
	owner  transcript.Key
	record *SessionRecord     // nil before Settle, and for a session with subagents' files alone
	gone   transcript.Instant // when the process of its client was found gone
	after  *session           // that the agent had before
	own    []*file            // the first is the one whose figures count
	side   []*file            // of subagents, by name, the newest of a name last
}

// read reports whether a session has a transcript.
func (s *session) read() bool { return s != nil && len(s.own) > 0 }

// id is what the session is called to the outside.
func (s *session) id() string {
	if s.uuid {
		return s.key
	}
	return cmp.Or(s.own[0].Session.ID, s.own[0].Name)
}

// whole returns the session as a plain value, and what it inherited. If a rewound
// conversation continues in another file, the newest file has the present state
// and all of them add up. Files of the same name are copies: the newest counts.
func (s *session) whole() (*transcript.Session, *Inherited) {
	first := s.own[0]
	if (len(s.own) == 1 || !s.uuid) && len(first.Earlier) == 0 {
		return &first.Session, &first.Inherited
	}
	sum := first.Session
	in := first.Inherited
	for i := range first.Earlier {
		sum.Add(&first.Earlier[i])
	}
	if !s.uuid {
		return &sum, &in
	}
	for i, x := range s.own[1:] {
		if slices.ContainsFunc(s.own[:i+1], func(y *file) bool { return segment(y) == segment(x) }) {
			continue
		}
		sum.Add(&x.Session)
		for j := range x.Earlier {
			sum.Add(&x.Earlier[j])
		}
		in.add(&x.Inherited)
	}
	return &sum, &in
}

// segment returns the name of the part of a session that is in a file.
func segment(x *file) string {
	name, _, _ := strings.Cut(lastElement(x.Cursor.Path), ".jsonl")
	return name
}

func (in *Inherited) add(more *Inherited) {
	in.Messages += more.Messages
	in.SideMessages += more.SideMessages
	in.Tokens, in.SideTokens = in.Tokens.Plus(more.Tokens), in.SideTokens.Plus(more.SideTokens)
	for i, n := range more.Compactions {
		in.Compactions[i] += n
	}
}

// newestFirst sorts the most complete copy of a session's transcript first.
func newestFirst(a, b *file) int {
	return cmp.Or(cmp.Compare(b.Session.Active, a.Session.Active), cmp.Compare(b.Session.Bytes, a.Session.Bytes),
		strings.Compare(a.Cursor.Path, b.Cursor.Path))
}

// isSubagent reports whether a file is the transcript of a subagent. Clients before
// 2.1.2 put them next to those of the sessions.
func isSubagent(name, parent string) bool {
	return parent != "" || strings.HasPrefix(name, "agent-")
}

// isUUID reports whether s is written as 8-4-4-4-12 hexadecimal digits.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if c-'0' > 9 && c|0x20-'a' > 5 {
				return false
			}
		}
	}
	return true
}

// growsAfter is how much later than the last time a file must be written to again to count as one that somebody writes:
// one that is being copied grows without a pause.
const growsAfter = transcript.Instant(2 * time.Second)

// grows takes note of what comes after a cursor.
func (x *file) grows(c *transcript.Cursor) {
	if c.Offset > x.Cursor.Offset && changedAt(c)-changedAt(&x.Cursor) >= growsAfter {
		x.grew = true
	}
}

func changedAt(c *transcript.Cursor) transcript.Instant {
	return transcript.Instant(max(c.Modified, -c.Modified))
}

// lastWritten is when a session's client last wrote, by its newest record. The time of the file counts once it has grown
// since it is known, for the client may have a wrong clock and some records have no time; until then it may be that of a
// copy.
func lastWritten(x *file) transcript.Instant {
	if x.Session.Active != 0 && !x.grew {
		return x.Session.Active
	}
	return max(x.Session.Active, changedAt(&x.Cursor))
}

// compareOrigin sorts originals before copies.
func compareOrigin(a, b *file) int {
	return cmp.Or(
		a.copyRank()-b.copyRank(),
		cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1), // 0, for no time at all, comes last
		cmp.Compare(a.Session.Active, b.Session.Active),
		strings.Compare(a.Name, b.Name),
	)
}

// copyRank is higher for subagents and for files with compactions that were copied.
func (x *file) copyRank() (rank int) {
	if x.sub {
		rank = 2
	}
	for _, p := range x.backlog {
		if slices.ContainsFunc(p.compactions, func(e transcript.Compaction) bool { return e.Copied }) {
			return rank + 1
		}
	}
	return rank
}

// dropped returns the totals of a transcript as it was, before its client dropped
// the records before a compaction, less those that the remaining records repeat.
// Records that are newer than all of the old ones are no repetition.
func dropped(x *file, c *transcript.Change) transcript.Session {
	old, _ := (&session{own: []*file{x}}).whole()
	in := x.Inherited
	t := transcript.Session{
		Peak:         old.Peak,
		Compactions:  old.Compactions,
		Turns:        old.Turns - c.Session.Turns,
		Messages:     old.Messages - in.Messages,
		SideMessages: old.SideMessages - in.SideMessages,
		Tokens:       old.Tokens.Minus(in.Tokens),
		SideTokens:   old.SideTokens.Minus(in.SideTokens),
		Started:      old.Started,
	}

	for i := range c.Entries {
		if e := &c.Entries[i]; e.Kind == transcript.KindTurnStart && e.At > old.Active {
			t.Turns++
		}
	}

	for i, n := range in.Compactions {
		t.Compactions[i] -= n
	}
	for i := range c.Compactions {
		if e := &c.Compactions[i]; e.At <= old.Active {
			t.Compactions[e.Trigger]--
		}
	}

	for i := range c.Messages {
		m := &c.Messages[i]
		if m.At > old.Active {
			continue
		}
		n := &t.Messages
		sum := &t.Tokens
		if m.Side {
			n = &t.SideMessages
			sum = &t.SideTokens
		}
		if m.Was == (transcript.Usage{}) {
			*n--
		}
		*sum = sum.Minus(m.Usage.Minus(m.Was))
	}

	return t
}
