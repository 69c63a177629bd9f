package claude

import (
	"cmp"
	"maps"
	"slices"

	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/jsonwalk"
)

// Fold adds up the lines of one transcript. The zero value is not ready: see
// [NewFold]. A Fold remembers the uuid of each record that counted and the cost
// of each message, so it grows with its file. Of an idle file only the Session
// must be kept, because folding the file again restores the rest.
type Fold struct {
	transcript.Tally
	name     transcript.Key
	subagent bool
	seen     map[transcript.Key]struct{}
	costs    map[transcript.Key]cost
	newest   priced           // one of costs
	marker   transcript.Event // a boundary that counts only if a summary follows, until then
	boundary moment           // of the newest compaction
	reading  moment           // of the newest reading
	line     line             // the order in which the file was written
	chain    chain            // the present conversation
	order    int64            // number of records so far; orders equal times
	turn     int64            // the newest prompt's, by the client's count; 0 for unknown
	rested   bool             // a turn ended, and neither prompt nor reply followed
	clock    transcript.Instant
	domain   transcript.Key // session of the newest reading
	titled   bool           // a title has counted since the last reading
	keyless  transcript.Key // counts messages without id
	titles   titles
	bills    *bills.Ledger      // nil unless bills were requested
	before   transcript.Instant // the newest stamp before this record
	walker   walker             // reused for each line, to save time
}

// cost is a Usage in a third of the space, which suffices for one message.
type cost struct {
	input, creation, read, output uint32
}

func (c cost) usage() transcript.Usage {
	return transcript.Usage{
		Input:         int64(c.input),
		CacheCreation: int64(c.creation),
		CacheRead:     int64(c.read),
		Output:        int64(c.output),
	}
}

// priced is a message with its cost.
type priced struct {
	id transcript.Key
	cost
}

// moment is a time, and the position in the file among equal times.
type moment struct {
	at    transcript.Instant
	order int64
}

func (m moment) after(n moment) bool {
	return m.at > n.at || m.at == n.at && m.order > n.order
}

// NewFold returns a fold for a transcript. The name, that of the file without
// its folder, is used in the keys of records that have none of their own. In a
// subagent's file all records are from a subagent, and they count like those of
// a session.
func NewFold(name string, subagent bool) *Fold {
	return &Fold{
		name:     transcript.KeyOf([]byte(name)),
		subagent: subagent,
		seen:     map[transcript.Key]struct{}{},
		costs:    map[transcript.Key]cost{},
		titles:   titles{named: len(name) == uuidLength},
	}
}

// Facts returns the title, and whether records were dropped at a compaction.
// Claude Code records neither a subagent's parent nor a window.
func (f *Fold) Facts() transcript.Facts {
	if f.subagent {
		return transcript.Facts{}
	}
	t := &f.titles
	branch := transcript.NewTitle(t.branch, transcript.TitleBranch)
	return transcript.Facts{
		Title: t.custom.Or(t.generated).Or(t.summary).Or(t.prompt).Or(branch),
		Cut:   f.line.torn && len(f.Compactions) > 0,
	}
}

// Line scans one line, without its newline, and adds it; n is its length with
// the newline. err is the reason why the line holds no record; for fresh see
// Add.
func (f *Fold) Line(line []byte, n int, e *transcript.Entry) (fresh bool, err error) {
	f.walker.Begin(line)
	err = f.walker.scan(line, e)
	f.walker.Begin(nil)
	return jsonwalk.Count(&f.Session, n, err) && f.Add(e), err
}

// Add adds one record, and completes it from the records before it. It returns
// false for records that change only times: repetitions of an earlier record of
// this file, records of subagents, and records without a meaning here.
func (f *Fold) Add(e *transcript.Entry) (fresh bool) {
	s := &f.Session
	f.order++
	before := s.Active
	f.before = before
	s.Stamp(e.At)
	transcript.Intern(&s.Version, e.Version)
	transcript.Intern(&s.CWD, e.CWD)
	if s.ID == "" {
		transcript.Intern(&s.ID, e.SessionID)
	}
	transcript.Intern(&f.titles.branch, e.Branch)
	if e.Titled != transcript.TitleNone && !e.Side {
		f.retitle(e)
	}
	if e.Kind == transcript.KindOther {
		if f.bills != nil && len(e.Calls) > 0 && (!e.Side || f.subagent) {
			f.bills.Results(e)
		}
		return false
	}
	if e.UUID != 0 {
		n := len(f.seen)
		if f.seen[e.UUID] = struct{}{}; len(f.seen) == n {
			return false // a replay
		}
	}
	if e.Side && !f.subagent {
		if e.Kind == transcript.KindReading {
			f.message(e, &s.SideMessages, &s.SideTokens, true)
		}
		return false
	}
	now := f.moment(e)
	if f.bills != nil {
		f.bill(e)
	}
	switch e.Kind {
	case transcript.KindReading:
		f.rested = false
		f.decide()
		f.read(e, now)
	case transcript.KindIdleNotice:
		if i := len(f.Compactions) - 1; i >= 0 && f.Session.Blank &&
			f.Compactions[i].Trigger == transcript.Auto {
			f.Retrigger(i, transcript.Idle)
		}
		f.decide()
	case transcript.KindContext:
		f.chain.received = f.order
	case transcript.KindAside:
		return f.step(e, before)
	case transcript.KindRewind:
		return f.rewindNoted(e)
	case transcript.KindBoundary:
		f.compacted(e, now)
	case transcript.KindSummary:
		f.summary(e, now)
	case transcript.KindTitle:
		return f.title(now)
	case transcript.KindTurnStart:
		f.step(e, before)
		if e.Text != "" {
			f.chain.received = f.order
		}
		f.chain.started = f.order
		f.rested = false
		f.decide()
		if e.Turn != 0 && e.Turn == f.turn && s.InTurn && !e.Rewound {
			e.Kind = transcript.KindContext
			return true
		}
		f.turn = e.Turn
		s.Turns++
		s.InTurn = true
	case transcript.KindTurnEnd:
		f.chain.ends = f.chain.ends || e.Parent == 0
		f.rested = true
		f.decide()
		s.InTurn = false
	}
	return true
}

// moment returns the time of a record. A record without a time is placed by its
// position in the file. So is a reading of another session than the one before
// it, because clients have written into the wrong file: times order readings
// only within a session. (A fork writes its own session id in all records that
// it copies.) A stamp far behind earlier ones means that those were ahead of
// the time.
func (f *Fold) moment(e *transcript.Entry) moment {
	if e.Kind == transcript.KindReading {
		id := transcript.KeyOf(e.SessionID)
		if id != 0 && f.domain != 0 && id != f.domain {
			f.reading.at = 0
			f.boundary.at = 0
			f.clock = 0
		}
		f.domain = cmp.Or(id, f.domain)
	}
	now := moment{e.At, f.order}
	if now.at == 0 {
		now.at = f.clock
	}
	if e.InOrder = f.line.rules(e); e.InOrder && now.at+far < f.clock {
		f.reading.at = min(f.reading.at, now.at)
		f.boundary.at = min(f.boundary.at, now.at)
		f.clock = now.at
	}
	f.clock = max(f.clock, now.at)
	return now
}

func (f *Fold) read(e *transcript.Entry, now moment) {
	s := &f.Session
	f.message(e, &s.Messages, &s.Tokens, false)
	s.Peak = max(s.Peak, e.Context)
	f.titled = false
	if e.Partial && !s.Blank {
		e.Cleared = s.Reading.Cleared
	}
	f.chain.spot = spot{e.Reading(), now}
	if f.reading.order == 0 || now.after(f.reading) {
		f.reading = now
		s.Reading = e.Reading()
		transcript.Intern(&s.Model, e.Model)
	}
	s.Blank = f.boundary.after(f.reading)
}

// message counts an API message once, by the line with the largest output.
func (f *Fold) message(e *transcript.Entry, n *int, sum *transcript.Usage, side bool) {
	id := cmp.Or(e.Message, e.UUID)
	if id == 0 {
		// Without any id each line counts as a message. Its key is derived from
		// its index, so that a file read again gets the same keys.
		f.keyless++
		id = transcript.Join(f.name, f.keyless)
	}
	c := f.newest.cost
	known := f.newest.id == id // the lines of one message are mostly adjacent
	if !known {
		if c, known = f.costs[id]; known {
			f.newest = priced{id, c}
		}
	}
	was := c.usage()
	// The lines of one message come in any order. Its output grows while it is
	// written.
	u := &e.Usage
	if known && cmp.Or(
		cmp.Compare(u.Output, was.Output),
		cmp.Compare(u.Context(), was.Context()),
		cmp.Compare(u.CacheRead, was.CacheRead),
		cmp.Compare(u.CacheCreation, was.CacheCreation),
	) <= 0 {
		return
	}
	if !known {
		*n++
		was = transcript.Usage{}
	}
	f.newest = priced{
		id,
		cost{uint32(u.Input), uint32(u.CacheCreation), uint32(u.CacheRead), uint32(u.Output)},
	}
	f.costs[id] = f.newest.cost
	*sum = sum.Plus(e.Usage).Minus(was)
	if i := len(f.Messages) - 1; i >= 0 && f.Messages[i].ID == id {
		f.Messages[i].Usage = e.Usage
		return
	}
	f.Messages = append(f.Messages, transcript.Message{
		ID:    id,
		At:    e.At,
		Usage: e.Usage,
		Was:   was,
		Side:  side,
	})
}

// Peek returns the session after one more line, without changing the fold. It
// is for a complete last line without its newline. ok is false if the line is
// no record, or only the beginning of one. Peek copies the fold, which is slow.
func (f *Fold) Peek(line []byte) (s transcript.Session, ok bool) {
	var e transcript.Entry
	g := *f
	g.bills = nil
	g.walker.unknown = nil
	g.walker.Begin(line)
	if g.walker.scan(line, &e) != nil {
		return f.Session, false
	}
	g.Tally = f.Tally.Copy()
	g.seen = maps.Clone(f.seen)
	g.costs = maps.Clone(f.costs)
	g.chain.points = slices.Clone(f.chain.points)
	g.Line(line, len(line), &e)
	return g.Session, true
}

// Take returns the results of the lines since the last call.
func (f *Fold) Take() transcript.News {
	n := f.Tally.Take()
	n.Unknown = f.walker.unknown
	f.walker.unknown = nil
	if f.bills != nil {
		n.Bills, n.Worked = f.bills.Take(f.Compactions)
	}
	return n
}
