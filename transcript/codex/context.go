package codex

import (
	"cmp"
	"slices"

	"sm/transcript"
)

// spent adds the cost of a response. Its record is in the file as soon as the
// response is complete, long before the token_count if a tool runs. A turn
// without a beginning only compacts; the cost of its response is not the size
// of the context.
func (f *Fold) spent(r *record, e *transcript.Entry) (fresh bool) {
	f.costs = true
	response := transcript.KeyOf(r.response)
	thread := cmp.Or(transcript.KeyOf(r.thread), f.key)
	f.cost(transcript.Join(thread, transcript.KeyOf(r.turn), response), r.last, e)
	if r.last.total == 0 || f.namesCause && f.turn.open && !f.turn.attributed {
		return false
	}
	f.read(r.last.total, response, e)
	return true
}

// cost adds the cost of one response.
func (f *Fold) cost(id transcript.Key, u usage, e *transcript.Entry) {
	s := &f.Session
	e.Message = id
	e.Usage = u.cost()
	s.Messages++
	s.Tokens = s.Tokens.Plus(e.Usage)
	f.Messages = append(f.Messages, transcript.Message{ID: id, At: e.At, Usage: e.Usage})
}

// counted applies a token_count. Clients repeat the newest one, sometimes with
// an old window. A token_count that describes no response is the client's own
// estimate, or means that a request was larger than the window.
func (f *Fold) counted(r *record, e *transcript.Entry) (fresh bool) {
	s := &f.Session
	now := count{r.sum.total, r.last.total}
	if now == f.count || r.last.total == 0 {
		return false
	}
	f.count = now
	f.sized(r.window)
	switch tokens, known := s.Context(); {
	case r.last.none():
		f.blank(r.last.total)
		if !r.sum.none() || r.sum.total == 0 || r.sum.total != r.window {
			return false
		}
		e.Kind = transcript.KindReading
		e.Context = r.window
		e.InOrder = true
		e.Model = f.model
		return true
	case f.costs && known &&
		tokens == r.last.total, f.costs && f.namesCause && f.turn.open &&
		!f.turn.attributed:
		return false
	}
	if !f.costs && !f.copies.now {
		f.uncosted++
		f.cost(transcript.Join(f.key, f.uncosted), r.last, e)
	}
	f.read(r.last.total, 0, e)
	return true
}

// read applies a context size.
func (f *Fold) read(tokens int64, response transcript.Key, e *transcript.Entry) {
	s := &f.Session
	f.before = f.reading.tokens
	f.reading = reading{tokens, response}
	s.Reading = transcript.Reading{At: e.At, Tokens: tokens}
	if s.Peak = max(s.Peak, tokens); s.Blank {
		f.blank(0)
		s.Blank = false
	}
	e.Kind = transcript.KindReading
	e.Context = tokens
	e.InOrder = true
	e.Model = f.model
}

// Name spaces of joined keys. They are stored: never renumber them.
const (
	windows  transcript.Key = 1 + iota // compactions, by the id of the window that they open
	nameless                           // compactions without that id, by their index
)

// compact counts a compaction, once.
func (f *Fold) compact(r *record, e *transcript.Entry) (fresh bool) {
	key := transcript.Join(windows, transcript.KeyOf(r.windowID))
	if len(r.windowID) == 0 {
		n := len(f.Compactions) - f.copies.n + 1
		key = f.key
		if f.copies.now {
			f.copies.n++
			n = f.copies.n
			key = f.copies.origin
		}
		key = transcript.Join(key, nameless, transcript.Key(n))
	}
	if slices.ContainsFunc(
		f.Compactions,
		func(c transcript.Event) bool { return c.Key == key },
	) {
		return false
	}
	c := transcript.Compaction{
		Key:       key,
		Own:       key,
		At:        e.At,
		Trigger:   f.trigger(),
		PreTokens: f.size(r),
		Boundary:  true,
		Copied:    f.copies.now,
	}
	c.Undecided = c.Trigger == transcript.Unknown && f.turn.open
	i := f.Tally.Add(transcript.Event{Compaction: c})
	if c.Undecided {
		f.turn.pending = i + 1
	}
	if !f.Session.Blank { // otherwise the client's estimate is already set
		f.blank(0)
	}
	f.reading = reading{}
	f.before = 0
	e.Kind = transcript.KindBoundary
	e.UUID = key
	e.Trigger = c.Trigger
	e.PreTokens = c.PreTokens
	e.InOrder = true
	return true
}

// trigger returns the cause of a compaction. If turns do not name their cause,
// the turn of a /compact is one without a prompt, which may still follow.
func (f *Fold) trigger() transcript.Trigger {
	switch t := &f.turn; {
	case !t.open:
		return transcript.Unknown
	case t.attributed, t.prompted:
		return transcript.Auto
	case f.namesCause:
		return transcript.Manual
	}
	return transcript.Unknown
}

// decide sets the trigger that the turn has left open.
func (f *Fold) decide(t transcript.Trigger) {
	if i := f.turn.pending - 1; i >= 0 {
		f.Compactions[i].Undecided = false
		f.Retrigger(i, t)
	}
	f.turn.pending = 0
}

// size returns the context size before a compaction, if possible without the cost
// of the request that wrote the summary. Clients that do not name that request
// write its cost just before.
func (f *Fold) size(r *record) int64 {
	own := transcript.KeyOf(r.compaction)
	if f.reading.tokens > 0 &&
		(own == 0 && !f.costs || own != 0 && own == f.reading.response) &&
		f.before > 0 {
		return f.before
	}
	return f.reading.tokens
}
