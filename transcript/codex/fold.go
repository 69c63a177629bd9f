package codex

import (
	"bytes"
	"slices"

	"sm/transcript"
	"sm/transcript/codex/files"
	"sm/transcript/jsonwalk"
	"sm/transcript/wording"
)

// Client is the name of the client that writes these transcripts.
const Client = files.Client

// Fold adds up the lines of one transcript. It remembers no more of a record than it needs
// to know a repeated compaction, so that it hardly grows with its file.
type Fold struct {
	transcript.Tally

	record      record         // of the line being read: it takes much room
	walker      walker         // which is not made anew for each line: that takes time
	thread      []byte         // the thread's id: by the first meta, before that by the file's name
	key         transcript.Key // of the thread
	begun       bool           // its meta has been read
	start       int64          // the ordinal of the first record that is the thread's own
	copies      copies
	turn        turn
	saysTrigger bool // its starts name what began the turn
	branch      string
	prompt      transcript.Title
	model       []byte

	limits   [2]transcript.Limit
	costs    bool // its records contain the cost of each response
	uncosted transcript.Key
	count    count // the newest
	reading  reading
	before   int64 // the size of the context before the reading, in tokens

	bills *billing // nil unless bills are wanted
}

// copies is what a fork of clients up to 0.145 has copied from the thread that it was forked
// from, right behind its own meta.
type copies struct {
	now    bool
	origin transcript.Key // the thread that it was copied from
	at     transcript.Instant
	n      int // compactions
}

// turn is the present turn, or the newest.
type turn struct {
	open       bool
	attributed bool // by what began it
	prompted   bool // the user's words have been read
	pending    int  // 1 + the index of a compaction whose trigger they decide, 0 for none
}

// count identifies a token_count.
type count struct{ sum, last int64 }

// reading is the newest context size with its response.
type reading struct {
	tokens   int64
	response transcript.Key
}

// NewFold begins a transcript.
func NewFold(file transcript.File) *Fold {
	f := &Fold{thread: []byte(file.Name), key: transcript.KeyOf([]byte(file.Name))}
	f.Session.SetParticulars(transcript.Particulars{Client: Client})
	return f
}

// Facts are the title and the rate limits.
func (f *Fold) Facts() transcript.Facts {
	return transcript.Facts{
		Limits: f.limits,
		Title:  f.prompt.Or(transcript.NewTitle(f.branch, transcript.TitleBranch)),
	}
}

// Take returns what the lines since the last call have brought.
func (f *Fold) Take() transcript.News {
	n := f.Tally.Take()
	n.Unknown = f.walker.unknown
	f.walker.unknown = nil
	if f.bills != nil {
		n.Bills, n.Worked = f.bills.ledger.Take(f.Compactions)
	}
	return n
}

// Peek returns the session after one line more.
func (f *Fold) Peek(line []byte) (s transcript.Session, ok bool) {
	g := *f
	g.bills = nil
	g.walker.unknown = nil
	g.walker.Begin(line)
	if g.walker.scan(line, &g.record) != nil {
		return f.Session, false
	}
	g.Tally = f.Tally.Copy()
	g.thread = slices.Clone(f.thread)
	g.model = slices.Clone(f.model)
	g.Line(line, len(line), &transcript.Entry{})
	return g.Session, true
}

// Line scans one line, without its newline, and adds it; n is its length with the newline.
func (f *Fold) Line(line []byte, n int, e *transcript.Entry) (fresh bool, err error) {
	*e = transcript.Entry{}
	f.walker.Begin(line)
	err = f.walker.scan(line, &f.record)
	f.walker.Begin(nil)
	fresh = jsonwalk.Count(&f.Session, n, err) && f.add(&f.record, e)
	f.record = record{} // a long line's memory goes with it
	return fresh, err
}

// add adds one record, and sets its meaning in e.
func (f *Fold) add(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	e.At = r.at
	s.Stamp(r.at)
	if r.kind == meta && !f.begun {
		return f.begin(r, e)
	}
	if r.ordinal >= 0 && r.ordinal < f.start {
		return false // the parent's
	}
	if r.kind == meta { // of clients that copy what a thread is forked from
		f.copies = copies{now: true, origin: transcript.KeyOf(r.id), at: r.at}
		return false
	}
	if f.copies.now {
		// The copies were written within a second; the first turn of the thread itself has a
		// younger id than the thread, as both begin with their time.
		own := r.kind == started && len(r.turn) == len(f.thread) &&
			bytes.Compare(r.turn, f.thread) > 0
		f.copies.now = !own && r.at <= f.copies.at+1e9
		f.copies.at = max(f.copies.at, r.at)
	}
	if f.copies.now {
		if turns := s.Turns; r.kind != spent {
			f.own(r, &transcript.Entry{At: r.at})
			s.Turns = turns
		}
		return false
	}
	return f.own(r, e)
}

// own adds a record of the thread's own.
func (f *Fold) own(r *record, e *transcript.Entry) (fresh bool) {
	fresh = f.take(r, e)
	if f.bills != nil {
		f.bills.take(f, r, e, fresh)
	}
	return fresh
}

func (f *Fold) take(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	for i, l := range r.limits {
		if l.resets >= 1 && l.resets < 1<<33 { // records of old clients lack the end of a window
			f.limits[i] = transcript.Limit{
				At:     r.at,
				Resets: transcript.Instant(l.resets) * 1e9,
				Used:   min(1, max(0, l.used/100)),
			}
		}
	}
	switch r.kind {
	case settings:
		f.model = append(f.model[:0], r.model...)
		transcript.Intern(&s.Model, r.model)
		transcript.Intern(&s.CWD, r.cwd)
	case spent:
		return f.spent(r, e)
	case counted:
		return f.counted(r, e)
	case compacted:
		return f.compact(r, e)
	case started:
		return f.started(r, e)
	case prompt:
		return f.prompted(r, e)
	case hookText:
		e.Kind = transcript.KindContext
		e.Text = wording.Clip(r.text)
		return true
	case ended:
		f.decide(transcript.Manual)
		f.turn.open = false
		s.InTurn = false
		e.Kind = transcript.KindTurnEnd
		e.UUID = r.turnKey(f.key, 2)
		if r.overflow && !s.Blank {
			f.blank(s.Details().Window)
		}
		return true
	case rolled:
		f.rewound(e)
		return true
	}
	return false
}

// begin takes the meta that identifies the file. One whose history begins with the thread
// itself, or with a file of a thread that was not forked, begins another file of a thread that
// was rewound.
func (f *Fold) begin(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	f.begun = true
	f.start = r.start
	if len(r.id) > 0 {
		f.thread = append(f.thread[:0], r.id...)
		f.key = transcript.KeyOf(r.id)
	}
	s.ID = string(f.thread)
	p := s.Details()
	p.Parent = string(r.parent)
	s.SetParticulars(p)
	transcript.Intern(&s.Version, r.version)
	transcript.Intern(&s.CWD, r.cwd)
	f.branch = string(r.branch)
	if len(r.base) > 0 && (bytes.Equal(r.base, f.thread) || len(r.origin) == 0) {
		f.rewound(e)
		return true
	}
	return false
}

// sized sets the size of the window, if it is given.
func (f *Fold) sized(window int64) {
	if p := f.Session.Details(); window > 0 && window != p.Window {
		p.Window = window
		f.Session.SetParticulars(p)
	}
}

// blank makes the context unknown, but for the client's own estimate.
func (f *Fold) blank(estimate int64) {
	p := f.Session.Details()
	f.Session.Blank = true
	p.Estimate = estimate
	f.Session.SetParticulars(p)
}

// started begins a turn. New clients name what began it, except for a turn that only
// compacts.
func (f *Fold) started(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	f.turn = turn{open: true, attributed: r.attributed}
	f.saysTrigger = f.saysTrigger || r.attributed
	s.InTurn = true
	f.sized(r.window)
	if r.attributed {
		s.Turns++
		e.Kind = transcript.KindTurnStart
		e.UUID = r.turnKey(f.key, 1)
	}
	return r.attributed
}

func (r *record) turnKey(thread, part transcript.Key) transcript.Key {
	if len(r.turn) == 0 {
		return 0
	}
	return transcript.Join(thread, transcript.KeyOf(r.turn), part)
}

// prompted takes the user's words. In files that do not name what began a turn the first ones
// of a turn begin it, and in those without turns all do.
func (f *Fold) prompted(r *record, e *transcript.Entry) (fresh bool) {
	if wording.IsOurs(r.text) {
		e.Text = wording.Clip(r.text)
	} else if f.prompt.Source == transcript.TitleNone {
		f.prompt = transcript.PromptTitle(r.text)
	}
	begins := !f.turn.open || !f.turn.attributed && !f.turn.prompted
	f.decide(transcript.Auto)
	f.turn.prompted = f.turn.open
	switch {
	case begins:
		f.Session.Turns++
		e.Kind = transcript.KindTurnStart
		e.UUID = r.turnKey(f.key, 1)
	case e.Text != "":
		e.Kind = transcript.KindContext
	}
	return e.Kind != transcript.KindOther
}

// rewound records that the conversation was rewound. No record contains how far, so
// all delivered texts stay delivered.
func (f *Fold) rewound(e *transcript.Entry) {
	e.Kind = transcript.KindRewind
	e.Rewound = true
	e.Left = e.At
	e.Until = e.At
	if tokens, known := f.Session.Context(); known {
		e.Context = tokens
	}
}
