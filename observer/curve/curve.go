// Package curve keeps the sizes of an agent's context, with its events: the
// points and marks of the curve on the page, and the trend in sm top.
//
// A curve takes at most 8 KB. Its points and marks are in order of time; the
// first point of a cycle and the marks of compactions are dropped last. A curve
// is not stored: after a restart it begins with the end of the transcript. It
// is not safe for concurrent use.
package curve

import (
	"math"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
)

const (
	// maxPoints and maxMarks limit a curve. Compactions are kept longer than
	// notices, so that all cycles of the curve have their marks.
	maxPoints = 128
	maxMarks  = 64
)

// A Curve is the history of one agent for the page. Beyond maxPoints the point
// is dropped that changes the curve least, so a long history keeps its shape.
type Curve struct {
	History
	// Began is when the present cycle began, in seconds since 1970, 0 while
	// unknown. fresh means that the cycle has no reading yet.
	Began int64
	fresh bool
	// since is the time of the first entry that was not filled in. Depth is how
	// many bytes of the transcript's end were read to fill in earlier entries,
	// 0 for none.
	since int64
	Depth int64
	// transcribed means that there is a transcript, so that readings of the
	// status line are ignored.
	transcribed bool
	// Version grows with each change; 0 is an empty curve. Touched is the time
	// of the agent's newest event.
	Version uint32
	Touched time.Time
}

// History has the points and marks of a curve, oldest first.
type History struct {
	Points []Point
	Marks  []Mark
}

// Point is a context size at a time.
type Point struct {
	At     int64 // seconds since 1970
	Tokens int64
	// First means that a cycle begins here: no line connects it to the previous
	// point.
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
	case compaction, "clear", "session", "handoff", "rewind":
		return true
	}
	return false
}

const compaction = "compaction"

// Shown returns a copy of the history.
func (h *Curve) Shown() *History {
	return &History{Points: slices.Clone(h.Points), Marks: slices.Clone(h.Marks)}
}

// Read adds a reading, unless it is older than the last.
func (h *Curve) Read(at time.Time, tokens int64) {
	t := Seconds(at)
	n := len(h.Points)
	var last Point
	if n > 0 {
		last = h.Points[n-1]
	}
	if tokens <= 0 || t == 0 || t < max(h.Began, last.At) {
		return
	}
	p := Point{At: t, Tokens: tokens, First: h.fresh}
	if !h.fresh && last.At == t { // another line of the same message
		p.First = last.First
		if last == p {
			return
		}
		h.Points[n-1] = p
	} else {
		if n == maxPoints {
			h.thin() // before append, so that the slice does not grow
		}
		h.Points = append(h.Points, p)
		h.fresh = false
	}
	h.change(t)
}

// thin removes the point that is closest to the line between its neighbours.
// The ends of cycles are kept as long as there are other points.
func (h *Curve) thin() {
	least := math.Inf(1)
	at := 0
	for i := 1; i < len(h.Points)-1; i++ {
		if h.Points[i].First || h.Points[i+1].First {
			continue
		}
		a := h.Points[i-1]
		b := h.Points[i]
		c := h.Points[i+1]
		line := float64(a.Tokens)
		if c.At > a.At {
			line += float64(c.Tokens-a.Tokens) * float64(b.At-a.At) / float64(c.At-a.At)
		}
		if d := math.Abs(line - float64(b.Tokens)); d < least {
			least = d
			at = i
		}
	}
	h.Points = slices.Delete(h.Points, at, at+1)
}

// Open begins a cycle.
func (h *Curve) Open(at time.Time, kind, cause string, tokens int64) {
	t := Seconds(at)
	if t == 0 {
		return
	}
	h.Began = max(h.Began, t)
	h.fresh = true
	h.Note(at, kind, cause, tokens)
}

// Note adds a mark.
func (h *Curve) Note(at time.Time, kind, cause string, tokens int64) {
	m := Mark{
		At:     Seconds(at),
		Kind:   kind,
		Cause:  cause,
		Tokens: max(0, tokens),
	}
	if m.At == 0 || slices.Contains(h.Marks, m) {
		return
	}
	if len(h.Marks) == maxMarks {
		h.dropMark()
	}
	i := len(h.Marks)
	for i > 0 && h.Marks[i-1].At > m.At {
		i--
	}
	h.Marks = slices.Insert(h.Marks, i, m)
	h.change(m.At)
}

// dropMark removes the oldest notice, or the oldest mark if there is no notice.
func (h *Curve) dropMark() {
	i := max(0, slices.IndexFunc(h.Marks, func(m Mark) bool { return !m.Opens() }))
	h.Marks = slices.Delete(h.Marks, i, i+1)
}

func (h *Curve) change(at int64) {
	if h.Version++; h.since == 0 || at < h.since {
		h.since = at
	}
}

// Fill inserts the end of the transcript before the observed events.
func (h *Curve) Fill(earlier *Curve, depth int64) {
	if h.Depth >= depth {
		return
	}
	h.Depth = depth
	h.transcribed = h.transcribed || len(earlier.Points) > 0
	since := h.since
	if since == 0 { // there was no event
		since = math.MaxInt64
		h.Began = earlier.Began
		h.fresh = earlier.fresh
	}
	h.Points = joined(earlier.Points, h.Points, func(p Point) bool { return p.At < since })
	h.Marks = joined(earlier.Marks, h.Marks, func(m Mark) bool { return m.At < since })
	// A cycle begins at each point after the mark of an opening. The point may
	// be observed and the mark from the transcript, or the other way round.
	m := 0
	for i := 1; i < len(h.Points); i++ {
		for ; m < len(h.Marks) && h.Marks[m].At <= h.Points[i].At; m++ {
			if h.Marks[m].Opens() && h.Marks[m].At > h.Points[i-1].At {
				h.Points[i].First = true
			}
		}
	}
	for len(h.Points) > maxPoints {
		h.thin()
	}
	for len(h.Marks) > maxMarks {
		h.dropMark()
	}
	h.Points = slices.Clone(h.Points) // release the memory of dropped elements
	h.Marks = slices.Clone(h.Marks)
	h.Version++
}

// joined returns the elements of earlier for which before is true, followed by
// those of later for which it is false.
func joined[T any](earlier, later []T, before func(T) bool) []T {
	all := slices.DeleteFunc(slices.Clone(earlier), func(x T) bool { return !before(x) })
	return append(all, slices.DeleteFunc(slices.Clone(later), before)...)
}

// MaxTrend is the maximum number of readings in a trend.
const MaxTrend = 30

// Trend returns the newest readings, at most MaxTrend, as shares of the window, to three
// digits.
func (h *Curve) Trend(window int64) (shares []float64) {
	for _, p := range h.Points[max(0, len(h.Points)-MaxTrend):] {
		shares = append(shares, math.Round(1000*float64(p.Tokens)/float64(max(1, window)))/1000)
	}
	return shares
}

// Event adds a reading of the engine. Readings of the status line count only
// without a transcript, and after a rewind.
func (h *Curve) Event(ev *alerts.Event) {
	if ev.Source == transcript.FromStatusline && h.transcribed && !ev.Back {
		return
	}
	h.transcribed = h.transcribed || ev.Source == transcript.FromTranscript
	h.Read(ev.At, ev.Tokens)
}

// Cycle adds the beginning of a cycle.
func (h *Curve) Cycle(o *alerts.Opened) {
	switch o.Cause {
	case alerts.CauseNone, alerts.CauseCompaction:
		h.Open(o.At, compaction, o.Trigger.String(), o.PreTokens)
	default:
		h.Open(o.At, o.Cause.String(), "", o.PreTokens)
	}
}

// Seconds converts a time to seconds since 1970, 0 for none.
func Seconds(t time.Time) int64 {
	return max(0, t.Unix())
}
