package transcript

import "slices"

// Tally is what the folds of all clients keep of the lines so far.
type Tally struct {
	Session     Session   // the sum
	Messages    []Message // those that are new or have changed since the last call of Take
	Compactions []Event
	changed     []int // indexes into Compactions since the last call of Take
}

// Event is a compaction with what ties its records together within the file: the parent of
// a summary, and the summary that a boundary names.
type Event struct {
	Compaction
	Parent, Anchor Key
	Summarised     bool // its summary has been seen
}

// Sum is the session so far.
func (t *Tally) Sum() *Session { return &t.Session }

// Add counts a compaction and returns its index.
func (t *Tally) Add(ev Event) int {
	i := len(t.Compactions)
	t.Compactions = append(t.Compactions, ev)
	t.Session.Compactions[ev.Trigger]++
	t.Change(i)
	return i
}

// Retrigger gives a compaction another trigger.
func (t *Tally) Retrigger(i int, to Trigger) {
	c := &t.Compactions[i]
	t.Session.Compactions[c.Trigger]--
	t.Session.Compactions[to]++
	c.Trigger = to
	t.Change(i)
}

// Change has Take return a compaction.
func (t *Tally) Change(i int) {
	if !slices.Contains(t.changed, i) {
		t.changed = append(t.changed, i)
	}
}

// Take returns the messages and compactions that are new or have changed since the last call.
func (t *Tally) Take() (n News) {
	n.Messages = t.Messages
	for _, i := range t.changed {
		n.Compactions = append(n.Compactions, t.Compactions[i].Compaction)
	}
	t.Messages = nil
	t.changed = nil
	return n
}

// Copy returns a tally of the same lines that has no news, and shares nothing with this one.
func (t *Tally) Copy() Tally {
	return Tally{Session: t.Session, Compactions: slices.Clone(t.Compactions)}
}

// Intern sets a text of a session, without allocating when nothing changes.
func Intern(s *string, b []byte) {
	if len(b) > 0 && *s != string(b) {
		*s = string(b)
	}
}
