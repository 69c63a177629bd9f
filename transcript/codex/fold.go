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

// Fold adds up the lines of one transcript. Of records it stores only the data
// that identify repeated compactions, so that it hardly grows with its file.
type Fold struct {
	transcript.Tally

	record     record         // of the present line; large, so it is reused
	walker     walker         // reused for each line, to save time
	thread     []byte         // its id: from the first meta, until then from the file's name
	key        transcript.Key // key of the thread's id
	begun      bool           // the file's meta has been read
	start      int64          // the ordinal of the first record that is the thread's own
	copies     copies
	turn       turn
	namesCause bool // the starts of turns name their cause
	branch     string
	prompt     transcript.Title
	model      []byte

	limits   [2]transcript.Limit
	costs    bool // the records contain the cost of each response
	uncosted transcript.Key
	count    count // the newest
	reading  reading
	before   int64 // the size of the context before the reading, in tokens

	bills *billing // nil unless bills were requested
}

// copies are the records that a fork of clients up to 0.145 has copied from its
// origin, directly after its own meta.
type copies struct {
	now    bool
	origin transcript.Key // the thread that it was copied from
	at     transcript.Instant
	n      int // compactions
}

// turn is the present turn, or the newest.
type turn struct {
	open       bool
	attributed bool // its start names its cause
	prompted   bool // a prompt of the turn has been read
	pending    int  // 1 + index of the compaction whose trigger the turn decides, 0 for none
}

// count identifies a token_count.
type count struct{ sum, last int64 }

// reading is the newest context size with its response.
type reading struct {
	tokens   int64
	response transcript.Key
}

// NewFold returns a fold for a transcript.
func NewFold(file transcript.File) *Fold {
	f := &Fold{thread: []byte(file.Name), key: transcript.KeyOf([]byte(file.Name))}
	f.Session.SetParticulars(transcript.Particulars{Client: Client})
	return f
}

// Facts returns the title and the rate limits.
func (f *Fold) Facts() transcript.Facts {
	return transcript.Facts{
		Limits: f.limits,
		Title:  f.prompt.Or(transcript.NewTitle(f.branch, transcript.TitleBranch)),
	}
}

// Take returns the results of the lines since the last call.
func (f *Fold) Take() transcript.News {
	n := f.Tally.Take()
	n.Unknown = f.walker.unknown
	f.walker.unknown = nil
	if f.bills != nil {
		n.Bills, n.Worked = f.bills.ledger.Take(f.Compactions)
	}
	return n
}

// Peek returns the session after one more line.
func (f *Fold) Peek(line []byte) (s transcript.Session, ok bool) {
	g := *f
	g.bills = nil
	g.walker.unknown = nil
	g.Tally = f.Tally.Copy()
	g.thread = slices.Clone(f.thread)
	g.model = slices.Clone(f.model)
	if _, err := g.Line(line, len(line), &transcript.Entry{}); err != nil {
		return f.Session, false
	}
	return g.Session, true
}

// Line scans one line, without its newline, and adds it; n is its length with
// the newline.
func (f *Fold) Line(line []byte, n int, e *transcript.Entry) (fresh bool, err error) {
	*e = transcript.Entry{}
	f.walker.Begin(line)
	err = f.walker.scan(line, &f.record)
	f.walker.Begin(nil)
	fresh = jsonwalk.Count(&f.Session, n, err) && f.add(&f.record, e)
	f.record = record{} // releases the memory of a long line
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
	if r.kind == meta { // of a client that copies the thread's origin
		f.copies = copies{now: true, origin: transcript.KeyOf(r.id), at: r.at}
		return false
	}
	if f.copies.now {
		// The copies were written within a second. The first turn of the thread
		// itself has a younger id than the thread, because both ids begin with
		// their time.
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

// own adds a record that is the thread's own.
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

// begin applies the meta that identifies the file. If its history begins with
// the thread itself, or with a file of a thread that was not forked, the file
// is another file of a thread that was rewound.
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

// sized sets the size of the window, unless it is 0.
func (f *Fold) sized(window int64) {
	if p := f.Session.Details(); window > 0 && window != p.Window {
		p.Window = window
		f.Session.SetParticulars(p)
	}
}

// blank makes the context unknown, except for the client's own estimate.
func (f *Fold) blank(estimate int64) {
	p := f.Session.Details()
	f.Session.Blank = true
	p.Estimate = estimate
	f.Session.SetParticulars(p)
}

// started begins a turn. New clients name its cause, except for a turn that
// only compacts.
func (f *Fold) started(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	f.turn = turn{open: true, attributed: r.attributed}
	f.namesCause = f.namesCause || r.attributed
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

// prompted applies a prompt of the user. In files whose turns do not name their
// cause the first prompt of a turn begins it; in files without turns every
// prompt does.
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

// rewound records that the conversation was rewound. No record shows how far,
// so all delivered texts stay delivered.
func (f *Fold) rewound(e *transcript.Entry) {
	e.Kind = transcript.KindRewind
	e.Rewound = true
	e.Left = e.At
	e.Until = e.At
	if tokens, known := f.Session.Context(); known {
		e.Context = tokens
	}
}
