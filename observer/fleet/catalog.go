package fleet

import (
	"cmp"
	"slices"
	"strings"

	"sm/transcript"
)

// Apply takes in news of one transcript. What c points to may be used again
// afterwards. That reading has caught up is for the caller to know: then is the
// time to call Settle; until then there is no news.
func (f *Fleet) Apply(c transcript.Change) (n Update) {
	if c.CaughtUp {
		return n
	}
	if c.Gone {
		f.drop(c.Cursor.Path)
		return n
	}
	old := f.files[cmp.Or(c.From, c.Cursor.Path)]
	again := old != nil && old.Session.Lines > 0
	x, was := f.place(&c)
	f.counters.read(&was, &x.Session)
	f.changed.count()
	f.changed.file(c.Cursor.Path)
	fresh := x.Session.Total() - was.Total()
	if !f.settled {
		if x.past == nil || c.Whole {
			x.past = &past{}
		}
		if c.Whole {
			x.past.begin(&c, f.created)
		} else {
			x.past.grow(&c, fresh)
		}
		return n
	}
	f.sit(x)
	if c.Whole {
		x.told = 0
		if x.extra != nil {
			*x.extra = extra{Key: x.extra.Key}
		}
		c.Messages = once(c.Messages)
	}
	f.temper(x, c.Entries)
	for i := range c.Messages {
		f.message(x, &c.Messages[i], f.counts(c.Whole, c.Messages[i].At))
	}
	var mine, known []transcript.Compaction
	for i := range c.Compactions {
		switch own, isNew := f.compaction(x, &c.Compactions[i], &fresh, f.counts(c.Whole, c.Compactions[i].At)); {
		case isNew:
			mine = append(mine, c.Compactions[i])
		case own:
			known = append(known, c.Compactions[i])
		}
	}
	x.clamp()
	if x.sub {
		return n
	}
	return f.tell(x, was, &c, mine, known, again)
}

// place finds or makes the file of a change and brings it up to date. It returns
// what the file was before, nothing if it was read from its beginning.
func (ct *catalog) place(c *transcript.Change) (x *file, was transcript.Session) {
	path := c.Cursor.Path
	if x = ct.moved(c.From, path); x == nil {
		x = ct.files[path]
	}
	if x == nil {
		x = &file{}
	}
	if !c.Whole {
		was = x.Session
	}
	x.Cursor, x.Name, x.Parent, x.Session = c.Cursor, c.Name, c.Parent, c.Session
	x.setTitle(c.Title)
	switch sub := isSubagent(c.Name, c.Parent); {
	case sub && c.Alone:
		x.sub = false
		x.setKey(cmp.Or(x.also().Key, path))
	case sub || isUUID(c.Name):
		x.sub = sub
		x.setKey("")
	default:
		x.sub = false
	}
	ct.files[path] = x
	ct.share(x)
	ct.attach(x)
	return x, was
}

// moved takes a file from its old path; nil when nothing is known there. A file
// that has no session's id for a name stays in the session that it was in.
func (c *catalog) moved(from, to string) *file {
	x := c.files[from]
	if x == nil || from == to {
		return nil
	}
	c.drop(to) // what was there has been overwritten
	if !x.sub && x.also().Key == "" {
		x.setKey(x.of.key)
	}
	delete(c.files, from)
	c.changed.file(from)
	return x
}

// drop forgets a file. What it claimed stays claimed, and the session keeps its
// seat.
func (c *catalog) drop(path string) {
	if x := c.files[path]; x != nil {
		c.detach(x)
		delete(c.files, path)
		c.changed.file(path)
	}
}

// key is that of the session that a file belongs to: the session's id where the
// name tells it, else the path at which the file was found first. Two files called
// alike in two folders are thus two sessions.
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

// attach puts a file with its session, after each change.
func (c *catalog) attach(x *file) {
	key := x.key()
	if x.of != nil && x.of.key != key {
		c.detach(x)
	}
	s := x.of
	if s == nil {
		s = c.sessions[key]
		if s == nil {
			s = &session{key: key, uuid: isUUID(key), owner: transcript.KeyOf([]byte(key)), seat: c.seats[key]}
			c.sessions[key] = s
		}
		x.of = s
		if x.sub {
			if s.side == nil {
				s.side = &subagents{}
			}
			i, _ := slices.BinarySearchFunc(s.side.list, x, byName)
			s.side.list = slices.Insert(s.side.list, i, x)
		} else {
			s.own = append(s.own, x)
		}
	}
	if x.sub && s.side != nil {
		s.side.stale = true
	} else if len(s.own) > 1 {
		slices.SortFunc(s.own, newestFirst)
	}
}

func (c *catalog) detach(x *file) {
	s, same := x.of, func(y *file) bool { return x == y }
	s.own = slices.DeleteFunc(s.own, same)
	if s.side != nil {
		s.side.list, s.side.stale = slices.DeleteFunc(s.side.list, same), true
		if len(s.side.list) == 0 {
			s.side = nil
		}
	}
	x.of = nil
	if len(s.own) == 0 && s.side == nil {
		delete(c.sessions, s.key)
	}
}

// newestFirst puts that copy of a session's transcript first that tells most.
func newestFirst(a, b *file) int {
	return cmp.Or(cmp.Compare(b.Session.Active, a.Session.Active), cmp.Compare(b.Session.Bytes, a.Session.Bytes),
		strings.Compare(a.Cursor.Path, b.Cursor.Path))
}

func byName(a, b *file) int { return strings.Compare(a.Name, b.Name) }

// share lets strings that say the same be the same, for most sessions differ in
// nothing but path and id.
func (c *catalog) share(x *file) {
	if rest, ok := strings.CutSuffix(x.Cursor.Path, ".jsonl"); ok && strings.HasSuffix(rest, x.Name) {
		x.Name = rest[len(rest)-len(x.Name):]
	}
	s := &x.Session
	switch s.ID {
	case x.Name:
		s.ID = x.Name
	default:
		s.ID = c.intern(s.ID)
	}
	x.Parent = c.intern(x.Parent)
	s.Model, s.Version, s.CWD = c.intern(s.Model), c.intern(s.Version), c.intern(s.CWD)
}

// intern forgets all when it knows too many: then it serves badly, whatever the
// transcripts hold, but never fills the memory.
func (c *catalog) intern(s string) string {
	const most = 1 << 14
	if have, ok := c.shared[s]; ok || s == "" {
		return have
	}
	if len(c.shared) >= most {
		clear(c.shared)
	}
	c.shared[s] = s
	return s
}

// isSubagent tells a subagent's transcript. Clients before 2.1.2 put them next to
// those of the sessions.
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
