package claude

import (
	"slices"

	"sm/transcript"
)

// chain describes the conversation as the model has it. A client that is
// rewound (Esc Esc) returns to the point before a prompt, and its next user
// record then replaces that prompt: it has the same parent.
type chain struct {
	points   []point
	spot           // the newest reading in the order of the file, empty after a compaction
	received int64 // the newest record with a text of sm for the model
	// The newest user record: whether it replaces another, its position in the file,
	// and the newest stamp before it.
	replaced bool
	step     int64
	before   transcript.Instant
	at       transcript.Instant
	started  int64          // the newest prompt
	ends     bool           // the client records the ends of turns
	session  transcript.Key // session of the newest user record
}

// spot is a reading with its position.
type spot struct {
	reading transcript.Reading
	place   moment
}

// point is the position of a user record, to which a rewind can return.
type point struct {
	parent transcript.Key
	before transcript.Instant // the newest stamp before it
	spot                      // the newest reading before it
	order  int64
}

// pointsKept limits the points, and so the memory of a live session. A rewind
// to an older prompt is noticed only with the next reply.
const pointsKept = 256

// step processes a prompt or an aside, and reports whether the conversation was
// rewound before it. A record older than the newest reading is no rewind: some
// clients write a conversation a second time, under new ids.
func (f *Fold) step(e *transcript.Entry, before transcript.Instant) bool {
	c := &f.chain
	c.replaced = false
	c.step = f.order
	c.before = before
	c.at = e.At
	if id := transcript.KeyOf(e.SessionID); id != 0 {
		if c.session != 0 &&
			c.session != id { // old clients clear the context in the same file
			c.points = c.points[:0]
		}
		c.session = id
	}
	p := point{e.Parent, before, c.spot, f.order}
	if e.Parent == 0 {
		return false
	}
	// A client rewinds only at its prompt. A message queued during a turn may
	// have an old record as its parent.
	working := f.Session.InTurn && f.chain.ends && f.chain.place.order > f.chain.started
	if e.At != 0 && e.At >= f.reading.at && e.Text != "/clear" && !working {
		for i, q := range slices.Backward(c.points) {
			if q.parent != e.Parent {
				continue
			}
			c.replaced = true
			if c.place != q.place || c.received >= q.order { // or nothing has happened since
				f.rewind(e, q, before)
			}
			p.before = q.before
			p.spot = q.spot
			c.points = c.points[:i]
			break
		}
	}
	if len(c.points) == pointsKept {
		c.points = c.points[:copy(c.points, c.points[pointsKept/2:])]
	}
	c.points = append(c.points, p)
	return e.Rewound
}

// rewind goes back to a point.
func (f *Fold) rewind(e *transcript.Entry, to point, until transcript.Instant) {
	c := &f.chain
	s := &f.Session
	c.spot = to.spot
	s.Reading = to.reading
	f.reading = to.place
	s.Blank = false
	f.boundary = moment{}
	e.Rewound = true
	e.Left = to.before
	e.Until = until
	e.Context = to.reading.Tokens
	e.Cleared = to.reading.Cleared
}

// rewindNoted processes the client's own note. It is needed for a rewind to the
// very beginning of the conversation, because the next prompt then has the
// newest record as its parent, as if the conversation continued from there.
func (f *Fold) rewindNoted(e *transcript.Entry) bool {
	c := &f.chain
	if c.step == 0 || c.replaced || c.place.order == 0 || c.place.order > c.step {
		return false
	}
	e.At = c.at
	c.replaced = true
	f.rewind(e, point{}, c.before)
	if n := len(c.points); n > 0 {
		p := c.points[n-1]
		p.before = 0
		p.spot = spot{}
		c.points = append(c.points[:0], p)
	}
	return true
}
