package curve

import "sm/transcript"

// History is a curve as views draw it, oldest first.
type History struct {
	Points []Point
	Marks  []Mark
}

// Point is a context size at a time.
type Point struct {
	At     int64 // seconds since 1970
	Tokens int64
	// First means that a cycle begins here: no line leads from the point before.
	First bool
}

// Mark is an event of a context.
type Mark struct {
	At     int64
	Kind   string // compaction, clear, session, handoff, rewind, or the kind of a notice
	Cause  string // of a compaction: auto, manual, unknown; else ""
	Tokens int64  // of the context at that time, 0 when unknown
}

// Opens reports whether a mark ends one cycle and begins the next.
func (m *Mark) Opens() bool {
	switch m.Kind {
	case "compaction", "clear", "session", "handoff", "rewind":
		return true
	}
	return false
}

// Shown returns the curve for views.
func (h *Curve) Shown() *History {
	h = h.orEmpty()
	v := &History{
		Points: make([]Point, len(h.points)),
		Marks:  make([]Mark, len(h.marks)),
	}
	for i, p := range h.points {
		v.Points[i] = Point{At: int64(p.at), Tokens: p.tokens(), First: p.first()}
	}
	for i, m := range h.marks {
		v.Marks[i] = Mark{At: int64(m.at), Kind: markName(m.kind), Tokens: int64(m.size)}
		if m.kind == Compaction {
			v.Marks[i].Cause = transcript.Trigger(m.word).String()
		}
	}
	return v
}
