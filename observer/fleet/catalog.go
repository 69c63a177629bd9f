package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sm/transcript"
)

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
		x.grows(&c.Cursor)
	}
	x.Cursor = c.Cursor
	x.Name = c.Name
	x.Parent = c.Parent
	x.Session = c.Session
	x.setTitle(c.Title.Or(x.titleOf())) // the name of a thread is not in its transcript
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
func (ct *catalog) moved(from, to string) *file {
	x := ct.files[from]
	if x == nil || from == to {
		return nil
	}
	ct.drop(to) // what was there has been overwritten
	if !x.sub && x.also().Key == "" {
		x.setKey(x.of.key)
	}
	delete(ct.files, from)
	ct.changed.file(from)
	return x
}

// drop forgets a file. What it claimed stays claimed, and the session keeps its
// record.
func (ct *catalog) drop(path string) {
	if x := ct.files[path]; x != nil {
		ct.detach(x)
		delete(ct.files, path)
		ct.changed.file(path)
	}
}

// attach puts a file with its session, after each change.
func (ct *catalog) attach(x *file) {
	key := x.key()
	if x.of != nil && x.of.key != key {
		ct.detach(x)
	}
	s := x.of
	if s == nil {
		s = ct.sessions[key]
		if s == nil {
			s = &session{
				key:    key,
				uuid:   isUUID(key),
				owner:  transcript.KeyOf([]byte(key)),
				record: ct.records[key],
			}
			ct.sessions[key] = s
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

func (ct *catalog) detach(x *file) {
	s := x.of
	same := func(y *file) bool { return x == y }
	s.own = slices.DeleteFunc(s.own, same)
	if s.side != nil {
		s.side.list = slices.DeleteFunc(s.side.list, same)
		s.side.stale = true
		if len(s.side.list) == 0 {
			s.side = nil
		}
	}
	x.of = nil
	if len(s.own) == 0 && s.side == nil {
		delete(ct.sessions, s.key)
	}
}

// share lets strings that say the same be the same, for most sessions differ in
// nothing but path and id.
func (ct *catalog) share(x *file) {
	if rest, ok := strings.CutSuffix(x.Cursor.Path, ".jsonl"); ok && strings.HasSuffix(rest, x.Name) {
		x.Name = rest[len(rest)-len(x.Name):]
	}
	s := &x.Session
	switch s.ID {
	case x.Name:
		s.ID = x.Name
	default:
		s.ID = ct.intern(s.ID)
	}
	x.Parent = ct.intern(x.Parent)
	s.Model, s.Version, s.CWD = ct.intern(s.Model), ct.intern(s.Version), ct.intern(s.CWD)
}

// intern forgets all when it knows too many: then it serves badly, whatever the
// transcripts hold, but never fills the memory.
func (ct *catalog) intern(s string) string {
	const most = 1 << 14
	if have, ok := ct.shared[s]; ok || s == "" {
		return have
	}
	if len(ct.shared) >= most {
		clear(ct.shared)
	}
	ct.shared[s] = s
	return s
}

// catalog knows the transcripts and the sessions that they belong to. Each session gets a label once.
type catalog struct {
	*basis
	files    map[string]*file          // by path
	sessions map[string]*session       // by key, those with files
	records  map[string]*SessionRecord // by key, of all sessions ever seen
	labels   map[string]struct{}       // ever given
	shared   map[string]string         // strings that many sessions have in common
}

// claimOrder puts origins before copies, as far as they can be told apart: a
// session's own records before those of subagents, which may repeat them; files
// without an origin before files with one; then by time. Files of subagents that
// were copied with their session follow its order.
func (ct *catalog) claimOrder() []*file {
	order := slices.SortedFunc(maps.Values(ct.files), func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), strings.Compare(a.Cursor.Path, b.Cursor.Path))
	})
	ranks := map[*session]int{}
	for i, x := range order {
		if _, ranked := ranks[x.of]; !ranked && !x.sub {
			ranks[x.of] = i - len(order) // below that of orphans, which is 0
		}
	}
	slices.SortStableFunc(order, func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), cmp.Compare(ranks[a.of], ranks[b.of]))
	})
	return order
}

// Cursors says where reading goes on, by path.
func (ct *catalog) Cursors() []transcript.Cursor {
	cursors := make([]transcript.Cursor, 0, len(ct.files))
	for _, path := range slices.Sorted(maps.Keys(ct.files)) {
		cursors = append(cursors, ct.files[path].Cursor)
	}
	return cursors
}

// giveRecord gives the session of a file its record, once. A subagent's file gives none.
func (ct *catalog) giveRecord(x *file) {
	s := x.of
	if x.sub {
		return
	}
	if s.record == nil {
		name := s.key
		if !s.uuid {
			name = cmp.Or(x.Session.ID, x.Name)
		}
		s.record = ct.record(s.key, name)
	}
	if s.record.Seen.IsZero() && x.Session.Active != 0 {
		s.record.Seen = x.Session.Active.Time()
		ct.changed.record(s.key)
	}
}

// record finds or makes the record of a session, whose label begins like the name.
func (ct *catalog) record(key, name string) *SessionRecord {
	rec := ct.records[key]
	if rec == nil {
		rec = &SessionRecord{SessionID: key, Agent: key, Label: ct.label(name, labelLength)}
		ct.records[key] = rec
		ct.changed.record(key)
	}
	return rec
}

// label finds a name for metrics that was never given before: the first n characters,
// more of them when others begin alike, else with a number.
func (ct *catalog) label(name string, n int) string {
	name = cmp.Or(strings.Map(labelRune, name), "session")
	label := name
	for ; n < len(name); n += 4 {
		if label = name[:n]; !ct.given(label) {
			break
		}
	}
	if n >= len(name) {
		label = name
	}
	for i := 2; ct.given(label); i++ {
		label = name + "-" + strconv.Itoa(i)
	}
	ct.labels[label] = struct{}{}
	return label
}

func (ct *catalog) given(label string) bool {
	_, given := ct.labels[label]
	return given
}

// labelLength is how much of an id names its owner in metrics.
const labelLength = 8

func labelRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
		return r
	}
	return '_'
}
