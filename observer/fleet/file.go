package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
	"unique"

	guuid "github.com/google/uuid"

	"sm/transcript"
)

// place updates the file of a change, and creates it if it is new. was is the
// session before the change, zero if the file was read from its beginning.
func (f *Fleet) place(c *transcript.Change) (x *file, was transcript.Session) {
	path := c.Cursor.Path
	if x = f.moved(c.From, path); x == nil {
		x = f.files[path]
	}
	if x == nil {
		x = &file{}
	}
	if !c.Whole {
		was = x.Session
		if c.Cursor.Offset > x.Cursor.Offset &&
			changedAt(&c.Cursor)-changedAt(&x.Cursor) >= growsAfter {
			x.grew = true
		}
	}
	x.Cursor = c.Cursor
	x.Name = c.Name
	x.Parent = c.Parent
	x.Session = c.Session
	x.Title = c.Title.Or(x.Title) // a transcript of Codex does not have the name of its thread
	x.sub = isSubagent(c.Name, c.Parent) && !c.Alone
	x.Key = cmp.Or(x.Key, path)
	if x.sub || isUUID(c.Name) {
		x.Key = ""
	}
	f.files[path] = x
	share(x)
	f.attach(x)
	return x, was
}

// moved removes a file from its old path and returns it, nil if there is none.
// A file whose name is not a session's id stays in its session.
func (f *Fleet) moved(from, to string) *file {
	x := f.files[from]
	if x == nil || from == to {
		return nil
	}
	f.drop(to) // it has been overwritten
	if !x.sub && x.Key == "" {
		x.Key = x.of.key
	}
	delete(f.files, from)
	f.changed.file(from)
	return x
}

// drop removes a file. Its claims remain, as does its part of today's estimate,
// even if a client reports the cost later, and the session keeps its record.
func (f *Fleet) drop(path string) {
	if x := f.files[path]; x != nil {
		if f.overdue(x, f.newest.Time()) {
			f.price(x, x.Unreported, &f.counters.Today.Kept)
		}
		f.detach(x)
		delete(f.files, path)
		f.changed.file(path)
	}
}

// attach adds a file to its session, and sorts the session's files. It is
// called after each change of a file.
func (f *Fleet) attach(x *file) {
	key := x.key()
	if x.of != nil && x.of.key != key {
		f.detach(x)
	}
	f.project(x.Session.CWD) // look it up early
	s := x.of
	if s == nil {
		s = f.session(key)
		x.of = s
		if x.sub {
			s.side = append(s.side, x)
		} else {
			s.own = append(s.own, x)
		}
	}
	if !x.sub {
		slices.SortFunc(s.own, newestFirst)
		return
	}
	slices.SortFunc(
		s.side,
		func(a, b *file) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), newestFirst(a, b))
		},
	)
}

func (f *Fleet) detach(x *file) {
	s := x.of
	same := func(y *file) bool { return x == y }
	s.own = slices.DeleteFunc(s.own, same)
	s.side = slices.DeleteFunc(s.side, same)
	x.of = nil
	if len(s.own)+len(s.side) == 0 && s.record == nil {
		delete(f.sessions, s.key)
	}
}

// share makes equal strings share memory: most sessions differ in little but
// path and id.
func share(x *file) {
	s := &x.Session
	for _, text := range []*string{&x.Parent, &s.Model, &s.Version, &s.CWD} {
		*text = unique.Make(*text).Value()
	}
}

// claimOrder returns all files with originals before copies, as far as they can
// be distinguished: a session's own file before those of subagents, which may
// repeat its records; files without an origin before files with one; then by
// time. Files of subagents that were copied with their session are in the order
// of the sessions.
func (f *Fleet) claimOrder() []*file {
	order := slices.SortedFunc(maps.Values(f.files), func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), strings.Compare(a.Cursor.Path, b.Cursor.Path))
	})
	ranks := map[*session]int{}
	for i, x := range order {
		if _, ranked := ranks[x.of]; !ranked && !x.sub {
			ranks[x.of] = i - len(order) // below 0, the rank of orphans
		}
	}
	slices.SortStableFunc(order, func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), cmp.Compare(ranks[a.of], ranks[b.of]))
	})
	return order
}

// Cursors returns the positions at which reading continues, by path.
func (f *Fleet) Cursors() (cursors []transcript.Cursor) {
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		cursors = append(cursors, f.files[path].Cursor)
	}
	return cursors
}

// giveRecord creates the record of a file's session, and makes the session the
// present one of an agent that was registered with its id. It does nothing for
// a subagent's file.
func (f *Fleet) giveRecord(x *file) {
	if x.sub {
		return
	}
	key := x.of.key
	rec := f.record(key, x.of.id())
	if a := f.agents[key]; a != nil && rec.Agent == key && a.Session == "" && a.Since == 0 {
		a.Session = key
		f.changed.agent(key)
	}
}

// record returns the record of a session, and creates it if there is none. Its
// label begins like name.
func (f *Fleet) record(key, name string) *SessionRecord {
	s := f.session(key)
	if s.record == nil {
		s.record = &SessionRecord{
			SessionID: key,
			Agent:     key,
			Label:     f.label(name, labelLength),
		}
		f.changed.record(key)
	}
	return s.record
}

// recordOf returns the record of a session, nil if it has none.
func (f *Fleet) recordOf(key string) *SessionRecord {
	if s := f.sessions[key]; s != nil {
		return s.record
	}
	return nil
}

// recordsOf returns the records of all sessions of an agent.
func (f *Fleet) recordsOf(agent string) (all []*SessionRecord) {
	for _, s := range f.sessions {
		if s.record != nil && s.record.Agent == agent {
			all = append(all, s.record)
		}
	}
	return all
}

// session returns a session, and creates it if there is none.
func (f *Fleet) session(key string) *session {
	s := f.sessions[key]
	if s == nil {
		s = &session{key: key, owner: transcript.KeyOf([]byte(key))}
		f.sessions[key] = s
	}
	return s
}

// transcript returns the newest of a session's own files, which has its present
// state, or nil if none has been read.
func (f *Fleet) transcript(key string) *file {
	if s := f.sessions[key]; s != nil && len(s.own) > 0 {
		return s.own[0]
	}
	return nil
}

// label returns a name for metrics that was never used before: the first n
// characters of name, more of them or a number if other names begin alike.
func (f *Fleet) label(name string, n int) string {
	name = cmp.Or(strings.Map(labelRune, name), "session")
	label := name[:min(n, len(name))]
	for ; f.labels[label] && n < len(name); n += 4 {
		label = name[:min(n+4, len(name))]
	}
	for i := 2; f.labels[label]; i++ {
		label = name + "-" + strconv.Itoa(i)
	}
	f.labels[label] = true
	return label
}

// labelLength is the number of characters of an id in a label.
const labelLength = 8

func labelRune(r rune) rune {
	if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) ||
		strings.ContainsRune("_.-", r) {
		return r
	}
	return '_'
}

// file is one transcript with the session that it belongs to.
type file struct {
	File
	of      *session
	backlog []past // changes before Settle
	sub     bool   // a subagent's file
	grew    bool   // while it was followed, after a pause
}

// key returns the key of a file's session: the session's id if the name
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

// session has the files and the record of one key. A session without own files
// is waiting for them, and has no views.
type session struct {
	key    string // a UUID, else a path
	owner  transcript.Key
	record *SessionRecord     // nil before Settle, and if all files are of subagents
	gone   transcript.Instant // when the process of its client was found gone
	after  *session           // previous session of the agent
	own    []*file            // the newest first
	side   []*file            // of subagents, by name, the newest of a name first
}

// read reports whether a session has a transcript.
func (s *session) read() bool { return s != nil && len(s.own) > 0 }

// id returns the session's id for views: the key if that is a UUID, else the id
// in the records, else the name.
func (s *session) id() string {
	if isUUID(s.key) {
		return s.key
	}
	return cmp.Or(s.own[0].Session.ID, s.own[0].Name)
}

// whole returns the session as a plain value, and its inherited part. If a
// rewound conversation continues in another file, the newest file has the
// present state and the sums of all files are added. Files of the same name are
// copies: the newest counts.
func (s *session) whole() (*transcript.Session, *transcript.Sums) {
	sum := s.own[0].Session
	in := s.own[0].Inherited
	for i, x := range s.own {
		copied := func(y *file) bool { return segment(y) == segment(x) }
		if i > 0 {
			if !isUUID(s.key) || slices.ContainsFunc(s.own[:i], copied) {
				continue
			}
			sum.Add(&x.Session)
			in.Add(&x.Inherited)
		}
		for j := range x.Earlier {
			sum.Add(&x.Earlier[j])
		}
	}
	return &sum, &in
}

// segment returns the name of the part of a session that is in a file.
func segment(x *file) string {
	name, _, _ := strings.Cut(lastElement(x.Cursor.Path), ".jsonl")
	return name
}

// own returns the sums of a file without the records that were copied from
// others.
func (x *file) own() transcript.Sums {
	sums := x.Session.Sums
	sums.Subtract(&x.Inherited)
	return sums
}

// newestFirst sorts the most complete copy of a session's transcript first.
func newestFirst(a, b *file) int {
	return cmp.Or(
		cmp.Compare(b.Session.Active, a.Session.Active),
		cmp.Compare(b.Session.Bytes, a.Session.Bytes),
		strings.Compare(a.Cursor.Path, b.Cursor.Path),
	)
}

// isSubagent reports whether a file is the transcript of a subagent. Clients before
// 2.1.2 put them next to those of the sessions.
func isSubagent(name, parent string) bool {
	return parent != "" || strings.HasPrefix(name, "agent-")
}

// isUUID reports whether s is written as 8-4-4-4-12 hexadecimal digits.
func isUUID(s string) bool { return len(s) == 36 && guuid.Validate(s) == nil }

// growsAfter is the minimum pause between two writes that shows that a client
// writes to a file: a file that is being copied grows without a pause.
const growsAfter = transcript.Instant(2 * time.Second)

func changedAt(c *transcript.Cursor) transcript.Instant {
	return transcript.Instant(max(c.Modified, -c.Modified))
}

// compareOrigin sorts originals before copies.
func compareOrigin(a, b *file) int {
	return cmp.Or(
		a.copyRank()-b.copyRank(),
		// 0 for an unknown time comes last.
		cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1),
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
		if slices.ContainsFunc(
			p.compactions,
			func(e transcript.Compaction) bool { return e.Copied },
		) {
			return rank + 1
		}
	}
	return rank
}

// dropped returns the totals of a transcript before its client dropped the
// records before a compaction, without those of the remaining records. Records
// that are newer than all of the old ones are additional.
func dropped(x *file, c *transcript.Change) transcript.Session {
	old, _ := (&session{own: []*file{x}}).whole()
	repeated := x.Inherited
	for i := range c.Compactions {
		if e := &c.Compactions[i]; e.At <= old.Active {
			repeated.Compactions[e.Trigger]++
		}
	}
	for i := range c.Messages {
		if m := &c.Messages[i]; m.At <= old.Active {
			addMessage(&repeated, m, m.Was == transcript.Usage{})
		}
	}
	t := transcript.Session{
		Peak:    old.Peak,
		Turns:   old.Turns - c.Session.Turns,
		Sums:    old.Sums,
		Started: old.Started,
	}
	t.Subtract(&repeated)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Kind == transcript.KindTurnStart && e.At > old.Active {
			t.Turns++
		}
	}
	return t
}
