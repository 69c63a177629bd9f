package fleet

import (
	"iter"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// Subagent is one of a session's subagents, by its own transcript. Nothing of it is in the session's context.
type Subagent struct {
	ID    string // the client's, as hooks name it
	Path  string // of its transcript, which has so many Bytes
	Bytes int64
	// Tokens is the size of its context, Known false while that is unknown; Peak is the largest.
	Tokens      int64
	Known       bool
	Peak        int64
	Window      transcript.Window
	Compactions int
	Reading     time.Time // of Tokens
	Active      time.Time // its last record
}

const (
	// MaxSubagents bounds the subagents of one session that are shown: those that did something last.
	MaxSubagents = 32
	// subagentFor is how long a subagent counts as working after its last record. No
	// record marks its end.
	subagentFor = time.Minute
)

// Subagents are the latest MaxSubagents of the session that an id names, as View reads it; the newest first. The client's
// own helpers, which repeat the session's records, are not among them.
func (f *Fleet) Subagents(id string) (all []Subagent) {
	r, err := f.find(id, fitsBeginning)
	if err != nil || r.s == nil {
		return nil
	}
	files := slices.DeleteFunc(
		slices.SortedFunc(r.s.subagents(), newestFirst),
		func(x *file) bool { return isInternal(x.Name) },
	)
	for _, x := range files[:min(len(files), MaxSubagents)] {
		t := &x.Session
		a := Subagent{
			ID:          strings.TrimPrefix(x.Name, "agent-"),
			Path:        x.Cursor.Path,
			Bytes:       t.Bytes,
			Peak:        t.Peak,
			Window:      f.client(t).WindowOf(t, 0, f.options.Windows),
			Compactions: max(0, t.Total()-x.Inherited.Compactions.Total()),
			Reading:     t.Reading.At.Time(),
			Active:      t.Active.Time(),
		}
		a.Tokens, a.Known = t.Context()
		all = append(all, a)
	}
	return all
}

// isInternal reports whether a file is of a subagent that the client starts for
// itself: to compact, to answer an aside, or to suggest a prompt.
func isInternal(name string) bool {
	helpers := []string{"agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-"}
	return slices.ContainsFunc(helpers, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// atWork counts a session's subagents with a recent record, and returns the largest
// of their contexts.
func (s *session) atWork(now time.Time) (n int, largest int64) {
	recent := transcript.InstantOf(now.Add(-subagentFor))
	for x := range s.subagents() {
		if x.Session.Active >= recent && !isInternal(x.Name) {
			n++
			if tokens, known := x.Session.Context(); known {
				largest = max(largest, tokens)
			}
		}
	}
	return n, largest
}

// subagents iterates over the files of a session's subagents. Of files of the same
// name it yields the newest, as with sessions.
func (s *session) subagents() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for i, x := range s.side {
			if i+1 == len(s.side) || s.side[i+1].Name != x.Name {
				if !yield(x) {
					return
				}
			}
		}
	}
}
