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
	if err != nil || r.s == nil || r.s.side == nil {
		return nil
	}
	files := slices.DeleteFunc(
		slices.SortedFunc(r.s.side.each(), newestFirst),
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

// atWork counts a session's subagents with a record of late, and says how large the largest context of them is.
func (s *session) atWork(now time.Time) (n int, largest int64) {
	late := transcript.InstantOf(now.Add(-subagentFor))
	if s.side == nil || s.subagents().newest < late {
		return 0, 0
	}
	for x := range s.side.each() {
		if x.Session.Active >= late && !isInternal(x.Name) {
			n++
			if tokens, known := x.Session.Context(); known {
				largest = max(largest, tokens)
			}
		}
	}
	return n, largest
}

// subagents are a session's files of subagents, and what they add up to; stale when one
// of them has changed.
type subagents struct {
	list     []*file // by name
	stale    bool
	files    int
	messages int
	tokens   transcript.Usage
	newest   transcript.Instant // the last record of one
}

// each gives the files, of those of one name the newest.
func (s *subagents) each() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for i, x := range s.list {
			if i > 0 && s.list[i-1].Name == x.Name {
				continue
			}
			for _, y := range s.list[i+1:] {
				if y.Name != x.Name {
					break
				}
				if newestFirst(y, x) < 0 {
					x = y
				}
			}
			if !yield(x) {
				return
			}
		}
	}
}

// subagents adds up the files of the session's subagents. Of files of the same name
// the newest counts, as with sessions.
func (s *session) subagents() *subagents {
	if s.side == nil {
		return &subagents{}
	}
	if !s.side.stale {
		return s.side
	}
	list := s.side.list
	*s.side = subagents{list: list}
	for x := range s.side.each() {
		s.side.files++
		if !isInternal(x.Name) {
			s.side.newest = max(s.side.newest, x.Session.Active)
		}
		s.side.messages += max(0, x.Session.Messages-x.Inherited.Messages)
		s.side.tokens = s.side.tokens.Plus(x.Session.Tokens.Minus(x.Inherited.Tokens))
	}
	return s.side
}
