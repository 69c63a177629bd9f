// Package curve keeps how full an agent's context was, with its events: the points
// and marks of the curve on the page, and the trend in sm top.
//
// A curve takes at most 2 KB. Its points and marks are in order of time; the first
// point of a cycle and the marks of compactions are dropped last. It is not stored:
// after a restart it begins with the end of the transcript. A Curve is not safe for
// concurrent use.
package curve

import (
	"cmp"
	"math"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
)

const (
	// maxPoints and maxMarks bound what is remembered of one agent: 2 KB. Compactions are kept longer than notices,
	// so that all cycles of the curve have their marks.
	maxPoints = 128
	maxMarks  = 64
)

// A Curve is what the page shows of one agent's past. It is bounded: beyond maxPoints
// the point goes that changes the curve least, so a long past keeps its shape.
type Curve struct {
	points []point
	marks  []mark
	// opened is when the present cycle began, in seconds since 1970; fresh means that it
	// has no reading yet.
	opened uint32
	fresh  bool
	// since is the time of the first entry that was not filled in, depth how many bytes
	// of the transcript's end have been looked at to fill in what was before.
	since uint32
	depth int64
	// transcribed means that there is a transcript: the status line adds nothing then.
	transcribed bool
	// version grows with each change; touched is when that was.
	version uint32
	touched time.Time
}

// orEmpty replaces a missing curve by an empty one.
func (h *Curve) orEmpty() *Curve {
	if h == nil {
		return &Curve{}
	}
	return h
}

// Version grows with each change. No curve has version 0, as an empty one.
func (h *Curve) Version() uint32 { return h.orEmpty().version }

// Depth is how many bytes of the transcript's end have been looked at, 0 for none.
func (h *Curve) Depth() int64 { return h.orEmpty().depth }

// Began is when the present cycle began, in seconds since 1970; 0 while unknown.
func (h *Curve) Began() uint32 { return h.orEmpty().opened }

// Touch notes that something was heard of the agent; Touched is when that was last.
func (h *Curve) Touch(now time.Time) { h.touched = now }
func (h *Curve) Touched() time.Time  { return h.touched }

// point is a context size; its highest bit marks the beginning of a cycle.
type point struct{ at, size uint32 }

const cycleBit = 1 << 31

func (p point) tokens() int64 { return int64(p.size &^ cycleBit) }
func (p point) first() bool   { return p.size&cycleBit != 0 }

// mark is something that happened, by its number (see markName), and for compactions why.
type mark struct {
	at, size   uint32
	kind, word uint8
}

// The kinds of marks beyond those of notices, which come first.
const (
	Compaction uint8 = iota + 16
	Clear
	Session
	Handoff
	Rewind
)

// markName is a mark's kind as the page calls it.
func markName(kind uint8) string {
	if kind >= Compaction {
		return [...]string{
			"compaction",
			"clear",
			"session",
			"handoff",
			"rewind",
		}[kind-Compaction]
	}
	return alerts.Kind(kind).String()
}

// Read adds a reading. One that is older than the last is no news.
func (h *Curve) Read(at time.Time, tokens int64) {
	t := Seconds(at)
	n := len(h.points)
	if tokens <= 0 || t == 0 || t < h.opened || n > 0 && t < h.points[n-1].at {
		return
	}
	p := point{t, uint32(min(tokens, cycleBit-1))}
	if h.fresh {
		p.size |= cycleBit
	}
	switch {
	case n > 0 && !h.fresh && h.points[n-1].at == t: // as the lines of one message
		p.size |= h.points[n-1].size & cycleBit
		if h.points[n-1] == p {
			return
		}
		h.points[n-1] = p
	default:
		if n == maxPoints {
			h.thin() // first, so that no room for more is taken
		}
		h.points = append(h.points, p)
		h.fresh = false
	}
	h.change(t)
}

// thin takes out the point that lies closest to the line between its neighbours. The
// ends of cycles stay, as long as there is anything else.
func (h *Curve) thin() {
	least := -1.0
	at := 0
	for i := 1; i < len(h.points)-1; i++ {
		if h.points[i].first() || h.points[i+1].first() {
			continue
		}
		a := h.points[i-1]
		b := h.points[i]
		c := h.points[i+1]
		line := float64(a.tokens())
		if c.at > a.at {
			line += float64(c.tokens()-a.tokens()) * float64(b.at-a.at) / float64(c.at-a.at)
		}
		if d := max(
			line-float64(b.tokens()),
			float64(b.tokens())-line,
		); least < 0 ||
			d < least {
			least = d
			at = i
		}
	}
	h.points = slices.Delete(h.points, at, at+1)
}

// Open begins a cycle.
func (h *Curve) Open(at time.Time, kind, word uint8, tokens int64) {
	t := Seconds(at)
	if t == 0 {
		return
	}
	h.opened = max(h.opened, t)
	h.fresh = true
	h.Note(at, kind, word, tokens)
}

// Note adds a mark.
func (h *Curve) Note(at time.Time, kind, word uint8, tokens int64) {
	m := mark{Seconds(at), uint32(max(0, min(tokens, cycleBit-1))), kind, word}
	if m.at == 0 || slices.Contains(h.marks, m) {
		return
	}
	if len(h.marks) == maxMarks {
		h.dropMark()
	}
	i := len(h.marks)
	for i > 0 && h.marks[i-1].at > m.at {
		i--
	}
	h.marks = slices.Insert(h.marks, i, m)
	h.change(m.at)
}

// cut has a cycle begin at each point that comes after the mark of an opening: one part of the past knows the mark, the
// other the point.
func (h *Curve) cut() {
	m := 0
	for i := 1; i < len(h.points); i++ {
		for ; m < len(h.marks) && h.marks[m].at <= h.points[i].at; m++ {
			if h.marks[m].kind >= Compaction && h.marks[m].at > h.points[i-1].at {
				h.points[i].size |= cycleBit
			}
		}
	}
}

// dropMark takes out the oldest notice, or the oldest mark where there is none.
func (h *Curve) dropMark() {
	i := max(0, slices.IndexFunc(h.marks, func(m mark) bool { return m.kind < Compaction }))
	h.marks = slices.Delete(h.marks, i, i+1)
}

func (h *Curve) change(at uint32) {
	if h.version++; h.since == 0 || at < h.since {
		h.since = at
	}
}

// Fill inserts the end of the transcript before the observed events.
func (h *Curve) Fill(earlier *Curve, depth int64) {
	if h.depth >= depth {
		return
	}
	h.depth, h.transcribed = depth, h.transcribed || len(earlier.points) > 0
	since := h.since
	if since == 0 { // nothing has been seen
		since = math.MaxUint32
		h.opened = earlier.opened
		h.fresh = earlier.fresh
	}
	h.points = joined(earlier.points, h.points, func(p point) bool { return p.at < since })
	h.marks = joined(earlier.marks, h.marks, func(m mark) bool { return m.at < since })
	h.cut()
	for len(h.points) > maxPoints {
		h.thin()
	}
	for len(h.marks) > maxMarks {
		h.dropMark()
	}
	h.points, h.marks = slices.Clip(slices.Clone(h.points)), slices.Clip(slices.Clone(h.marks))
	h.version++
}

// joined is what came before by one list, and all else by another.
func joined[T any](earlier, later []T, before func(T) bool) []T {
	all := slices.DeleteFunc(slices.Clone(earlier), func(x T) bool { return !before(x) })
	return append(all, slices.DeleteFunc(slices.Clone(later), before)...)
}

// MaxTrend bounds the readings of a trend.
const MaxTrend = 30

// Trend are the newest readings, at most MaxTrend, in tokens.
func (h *Curve) Trend() (tokens []int64) {
	h = h.orEmpty()
	for _, p := range h.points[max(0, len(h.points)-MaxTrend):] {
		tokens = append(tokens, p.tokens())
	}
	return tokens
}

// Shares writes the readings of a trend as shares of the window, to three digits.
func Shares(tokens []int64, window int64) (shares []float64) {
	for _, n := range tokens {
		shares = append(shares, math.Round(1000*float64(n)/float64(max(1, window)))/1000)
	}
	return shares
}

// Event takes a reading of the engine's. What the status line says counts where no transcript speaks.
func (h *Curve) Event(ev *alerts.Event) {
	if ev.Source == transcript.FromStatusline && h.transcribed && !ev.Back {
		return
	}
	h.transcribed = h.transcribed || ev.Source == transcript.FromTranscript
	h.Read(ev.At, ev.Tokens)
}

// Cycle takes note of a new cycle.
func (h *Curve) Cycle(o *alerts.Opened) {
	kind := map[alerts.Cause]uint8{
		alerts.CauseClear: Clear, alerts.CauseSession: Session, alerts.CauseHandoff: Handoff, alerts.CauseRewind: Rewind,
	}[o.Cause]
	h.Open(o.At, cmp.Or(kind, Compaction), uint8(o.Trigger), o.PreTokens)
}

// Seconds is a time in seconds since 1970, 0 for none and for one that 32 bits do not hold.
func Seconds(t time.Time) uint32 {
	if s := t.Unix(); !t.IsZero() && s > 0 && s < 1<<32-1 {
		return uint32(s)
	}
	return 0
}
