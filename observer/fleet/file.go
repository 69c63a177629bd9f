package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sm/observer/fleet/backlog"
	"sm/transcript"
)

// file is one transcript with the session that it belongs to.
// There are as many as transcripts, so that what few have is behind pointers.
type file struct {
	Cursor       transcript.Cursor
	Name, Parent string
	Session      transcript.Session
	extra        *extra // nil for most
	of           *session
	backlog      *backlog.Backlog // nil once the fleet is settled
	// stamped is the time for which the newest reading or compaction was stamped.
	stamped transcript.Instant
	title   *transcript.Title // nil for none; what it points to never changes
	sub     bool              // a subagent's
	grew    bool              // while it was watched, so that somebody writes it: see grows
}

// extra is what few files have: the fields of File by these names, and ahead, the newest
// time for which a stamp was taken that could not be.
type extra struct {
	Key           string
	Inherited     Inherited
	Copies, Known []transcript.Key
	Undecided     []transcript.Compaction
	Earlier       []transcript.Session
	ahead         transcript.Instant
}

// nothing is the extra of all other files, to be read alone.
var nothing = &extra{}

// also is a file's extra to read, never nil.
func (x *file) also() *extra {
	if x.extra == nil {
		return nothing
	}
	return x.extra
}

// more is a file's extra to write.
func (x *file) more() *extra {
	if x.extra == nil {
		x.extra = &extra{}
	}
	return x.extra
}

// newFile takes a file that was stored.
func newFile(s *File) *file {
	x := &file{
		Cursor:  s.Cursor,
		Name:    s.Name,
		Parent:  s.Parent,
		Session: s.Session,
	}
	if s.Key != "" || s.Inherited != (Inherited{}) || len(s.Copies)+len(s.Known)+len(s.Undecided)+len(s.Earlier) > 0 {
		x.extra = &extra{
			Key:       s.Key,
			Inherited: s.Inherited,
			Copies:    s.Copies,
			Known:     s.Known,
			Undecided: s.Undecided,
			Earlier:   s.Earlier,
		}
	}
	x.setTitle(s.Title)
	x.sub = s.Key == "" && isSubagent(s.Name, s.Parent)
	return x
}

// stored is a file as it is to be stored.
func (x *file) stored() File {
	e := x.also()
	return File{
		Cursor:    x.Cursor,
		Name:      x.Name,
		Parent:    x.Parent,
		Key:       e.Key,
		Session:   x.Session,
		Inherited: e.Inherited,
		Copies:    e.Copies,
		Known:     e.Known,
		Title:     x.titleOf(),
		Undecided: e.Undecided,
		Earlier:   e.Earlier,
	}
}

// setTitle keeps the title that the file gives its session.
func (x *file) setTitle(t transcript.Title) {
	switch {
	case t == transcript.Title{}:
		x.title = nil
	case x.title == nil || *x.title != t:
		x.title = &t
	}
}

func (x *file) titleOf() transcript.Title {
	if x.title == nil {
		return transcript.Title{}
	}
	return *x.title
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
	case x.also().Key == "" && isUUID(x.Name):
		return x.Name
	}
	return cmp.Or(x.also().Key, x.Cursor.Path)
}

func (x *file) setKey(key string) {
	if x.also().Key != key {
		x.more().Key = key
	}
}

// session is what belongs together under one key. One without files of its own
// waits for them, and shows nowhere.
type session struct {
	key    string
	uuid   bool // the key is one, else a path
	owner  transcript.Key
	record *SessionRecord
	own    []*file    // the first is the one whose figures count
	side   *subagents // nil without files of subagents
}

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
	if (len(s.own) == 1 || !s.uuid) && len(first.also().Earlier) == 0 {
		return &first.Session, &first.also().Inherited
	}
	sum := first.Session
	in := first.also().Inherited
	for i := range first.also().Earlier {
		sum.Add(&first.also().Earlier[i])
	}
	if !s.uuid {
		return &sum, &in
	}
	for i, x := range s.own[1:] {
		if slices.ContainsFunc(s.own[:i+1], func(y *file) bool { return segment(y) == segment(x) }) {
			continue
		}
		sum.Add(&x.Session)
		for j := range x.also().Earlier {
			sum.Add(&x.also().Earlier[j])
		}
		in.add(&x.also().Inherited)
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

func byName(a, b *file) int { return strings.Compare(a.Name, b.Name) }

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

// written is when the file was last changed.
func written(x *file) time.Time { return changedAt(&x.Cursor).Time() }

// lastWritten is when a session's client last wrote, by its newest record. The time of the file counts once it has grown
// since it is known, for the client may have a wrong clock and some records have no time; until then it may be that of a
// copy.
func lastWritten(x *file) transcript.Instant {
	if x.Session.Active != 0 && !x.grew {
		return x.Session.Active
	}
	return max(x.Session.Active, changedAt(&x.Cursor))
}

func compareOrigin(a, b *file) int {
	return cmp.Or(
		compareBool(a.sub, b.sub),
		compareBool(a.backlog.Copied(), b.backlog.Copied()),
		cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1), // 0, for no time at all, comes last
		cmp.Compare(a.Session.Active, b.Session.Active),
		strings.Compare(a.Name, b.Name),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
