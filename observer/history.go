package observer

import (
	"cmp"
	"math"
	"slices"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/transcript"
)

const (
	// pointsMost and marksMost bound what is remembered of one agent: 2 KB. Compactions are kept longer than notices,
	// so that all cycles of the curve have their marks.
	pointsMost = 128
	marksMost  = 64
)

// history is what the page shows of one agent's past. It is bounded: beyond pointsMost
// that point goes which changes the curve least, so a long past keeps its shape. It is
// not stored: after a restart it begins anew, with what the transcript's end tells.
type history struct {
	points []point
	marks  []mark
	// opened is when the present cycle began, seconds since 1970; fresh says that nothing
	// of it has been read.
	opened uint32
	fresh  bool
	// since is the time of the first entry that was not filled in, depth how many bytes
	// of the transcript's end have been looked at to fill in what was before.
	since uint32
	depth int64
	// told says that a transcript has been heard of: then the status line adds nothing.
	told bool
	// version grows with each change; touched is when that was.
	version uint32
	touched time.Time
}

// point is a context size; its highest bit says that a cycle begins with it.
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
	markCompaction uint8 = iota + 16
	markClear
	markSession
	markHandoff
	markRewind
)

// markName is a mark's kind as the page calls it.
func markName(kind uint8) string {
	if kind >= markCompaction {
		return [...]string{"compaction", "clear", "session", "handoff", "rewind"}[kind-markCompaction]
	}
	return alerts.Kind(kind).String()
}

// read adds a reading. One that is older than the last is no news.
func (h *history) read(at time.Time, tokens int64) {
	t, n := secondsOf(at), len(h.points)
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
		if n == pointsMost {
			h.thin() // first, so that no room for more is taken
		}
		h.points, h.fresh = append(h.points, p), false
	}
	h.change(t)
}

// thin takes out the point that lies closest to the line between its neighbours. The
// ends of cycles stay, as long as there is anything else.
func (h *history) thin() {
	least, at := -1.0, 0
	for i := 1; i < len(h.points)-1; i++ {
		if h.points[i].first() || h.points[i+1].first() {
			continue
		}
		a, b, c := h.points[i-1], h.points[i], h.points[i+1]
		line := float64(a.tokens())
		if c.at > a.at {
			line += float64(c.tokens()-a.tokens()) * float64(b.at-a.at) / float64(c.at-a.at)
		}
		if d := max(line-float64(b.tokens()), float64(b.tokens())-line); least < 0 || d < least {
			least, at = d, i
		}
	}
	h.points = slices.Delete(h.points, at, at+1)
}

// open begins a cycle.
func (h *history) open(at time.Time, kind, word uint8, tokens int64) {
	t := secondsOf(at)
	if t == 0 {
		return
	}
	h.opened, h.fresh = max(h.opened, t), true
	h.note(at, kind, word, tokens)
}

// note adds a mark.
func (h *history) note(at time.Time, kind, word uint8, tokens int64) {
	m := mark{secondsOf(at), uint32(max(0, min(tokens, cycleBit-1))), kind, word}
	if m.at == 0 || slices.Contains(h.marks, m) {
		return
	}
	if len(h.marks) == marksMost {
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
func (h *history) cut() {
	m := 0
	for i := 1; i < len(h.points); i++ {
		for ; m < len(h.marks) && h.marks[m].at <= h.points[i].at; m++ {
			if h.marks[m].kind >= markCompaction && h.marks[m].at > h.points[i-1].at {
				h.points[i].size |= cycleBit
			}
		}
	}
}

// dropMark takes out the oldest notice, or the oldest mark where there is none.
func (h *history) dropMark() {
	i := max(0, slices.IndexFunc(h.marks, func(m mark) bool { return m.kind < markCompaction }))
	h.marks = slices.Delete(h.marks, i, i+1)
}

func (h *history) change(at uint32) {
	if h.version++; h.since == 0 || at < h.since {
		h.since = at
	}
}

// fill puts what the transcript's end tells before what has been seen to happen.
func (h *history) fill(past *history, depth int64) {
	if h.depth >= depth {
		return
	}
	h.depth, h.told = depth, h.told || len(past.points) > 0
	seen := *h
	h.points, h.marks = nil, nil
	before := func(at uint32) bool { return seen.since == 0 || at < seen.since }
	for _, p := range past.points {
		if before(p.at) {
			h.points = append(h.points, p)
		}
	}
	for _, m := range past.marks {
		if before(m.at) {
			h.marks = append(h.marks, m)
		}
	}
	if seen.since == 0 {
		h.opened, h.fresh = past.opened, past.fresh
	}
	for _, p := range seen.points {
		if !before(p.at) {
			h.points = append(h.points, p)
		}
	}
	for _, m := range seen.marks {
		if !before(m.at) {
			h.marks = append(h.marks, m)
		}
	}
	h.cut()
	for len(h.points) > pointsMost {
		h.thin()
	}
	for len(h.marks) > marksMost {
		h.dropMark()
	}
	h.points, h.marks = slices.Clip(slices.Clone(h.points)), slices.Clip(slices.Clone(h.marks))
	h.version++
}

// shown is the history as the page takes it.
func (h *history) shown() *webpage.History {
	v := &webpage.History{Points: make([]webpage.Point, len(h.points)), Marks: make([]webpage.Mark, len(h.marks))}
	for i, p := range h.points {
		v.Points[i] = webpage.Point{At: int64(p.at), Tokens: p.tokens(), First: p.first()}
	}
	for i, m := range h.marks {
		v.Marks[i] = webpage.Mark{At: int64(m.at), Kind: markName(m.kind), Tokens: int64(m.size)}
		if m.kind == markCompaction {
			v.Marks[i].Cause = transcript.Trigger(m.word).String()
		}
	}
	return v
}

// trendMost bounds the readings of a trend.
const trendMost = 30

// trendOf writes readings as shares of the window.
func trendOf(points []point, window int64) (shares []float64) {
	for _, p := range points {
		shares = append(shares, math.Round(1000*float64(p.tokens())/float64(max(1, window)))/1000)
	}
	return shares
}

func secondsOf(t time.Time) uint32 {
	if s := t.Unix(); !t.IsZero() && s > 0 && s < 1<<32-1 {
		return uint32(s)
	}
	return 0
}

// curve finds the history of an agent, to add to it.
func (as agents) curve(agent alerts.AgentID, now time.Time) *history {
	x := as.of(agent)
	if x.curve == nil {
		x.curve = &history{}
	}
	x.curve.touched = now
	return x.curve
}

// event takes from an event what the curve is made of. What the status line says counts
// where no transcript speaks.
func (as agents) event(ev *alerts.Event, now time.Time) {
	if ev.Kind != alerts.EventReading || ev.Tokens <= 0 {
		return
	}
	h := as.curve(ev.Agent, now)
	if ev.Source == transcript.FromStatusline && h.told && !ev.Back {
		return
	}
	h.told = h.told || ev.Source == transcript.FromTranscript
	h.read(ev.At, ev.Tokens)
}

// opened takes note of a new cycle.
func (as agents) opened(o *alerts.Opened, now time.Time) {
	kind := markCompaction
	switch o.Cause {
	case alerts.CauseClear:
		kind = markClear
	case alerts.CauseSession:
		kind = markSession
	case alerts.CauseHandoff:
		kind = markHandoff
	case alerts.CauseRewind:
		kind = markRewind
	}
	as.curve(o.Agent, now).open(o.At, kind, uint8(o.Trigger), o.PreTokens)
}

// said takes note of a notice; that of a compaction says no more than its mark.
func (as agents) said(s *alerts.Say, tokens int64, now time.Time) {
	if s.Key.Kind != alerts.KindCompacted {
		as.curve(s.Key.Agent, now).note(s.At, uint8(s.Key.Kind), 0, tokens)
	}
}

// forgetCurves drops those of which nothing was heard for so long, and beyond most the oldest.
func (as agents) forgetCurves(before time.Time, most int) {
	var kept []alerts.AgentID
	for agent, x := range as {
		switch {
		case x.curve == nil:
		case x.curve.touched.Before(before):
			as.forgetCurve(agent)
		default:
			kept = append(kept, agent)
		}
	}
	if most <= 0 || len(kept) <= most {
		return
	}
	slices.SortFunc(kept, func(a, b alerts.AgentID) int {
		return cmp.Or(as[b].curve.touched.Compare(as[a].curve.touched), cmp.Compare(a, b))
	})
	for _, agent := range kept[most:] {
		as.forgetCurve(agent)
	}
}

func (as agents) forgetCurve(agent alerts.AgentID) {
	x := as[agent]
	if x.curve = nil; *x == (agentState{}) {
		as.forget(agent)
	}
}
