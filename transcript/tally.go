package transcript

import "slices"

// Tally is the part of a fold that the folds of all clients have in common.
type Tally struct {
	Session     Session   // the sum
	Messages    []Message // new or changed since the last call of Take
	Compactions []Event
	changed     []int // indexes into Compactions since the last call of Take
}

// Event is a compaction with the data that connect its records within the file:
// the parent of a summary, and the summary that a boundary names.
type Event struct {
	Compaction
	Parent, Anchor Key
	Summarised     bool // its summary has been read
}

// Sum returns the session so far.
func (t *Tally) Sum() *Session { return &t.Session }

// Add counts a compaction and returns its index.
func (t *Tally) Add(ev Event) int {
	i := len(t.Compactions)
	t.Compactions = append(t.Compactions, ev)
	t.Session.Compactions[ev.Trigger]++
	t.Change(i)
	return i
}

// Retrigger changes the trigger of a compaction.
func (t *Tally) Retrigger(i int, to Trigger) {
	c := &t.Compactions[i]
	t.Session.Compactions[c.Trigger]--
	t.Session.Compactions[to]++
	c.Trigger = to
	t.Change(i)
}

// Change marks a compaction as changed, so that Take returns it.
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

// Copy returns a tally of the same lines without changes to take. It shares
// nothing with t.
func (t *Tally) Copy() Tally {
	return Tally{Session: t.Session, Compactions: slices.Clone(t.Compactions)}
}

// Intern sets a text of a session to b unless b is empty. It does not allocate
// if the text is unchanged.
func Intern(s *string, b []byte) {
	if len(b) > 0 && *s != string(b) {
		*s = string(b)
	}
}
