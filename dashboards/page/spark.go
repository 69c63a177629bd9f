package page

import (
	"math"
	"slices"

	"sm/observer/api"
	"sm/observer/curve"
)

const (
	// pause limits the time between two readings in a sparkline, in seconds: it
	// shows growth and not idle time.
	pause = 5 * 60
	// sparkDots is the horizontal resolution of a sparkline: more dots are not
	// visible, and thousands of rows are sent.
	sparkDots = 64
	// sparkCycles limits the cycles of a sparkline; more are hard to distinguish.
	sparkCycles = 6
)

// spark is a sparkline: a square of 100 by 100 that is stretched. Its height is
// the window, so that agents can be compared.
type spark struct {
	Now, Area, Earlier string   // paths
	Breaks             []string // between cycles
	Limit              string   // the height of the threshold, "" for none
	Label              string
}

// sparkOf draws the last cycles.
func sparkOf(s *api.Session, h *curve.History) spark {
	if len(h.Points) == 0 {
		return spark{Label: "no readings yet"}
	}
	all := cyclesOf(h)
	all = all[max(0, len(all)-sparkCycles):]
	first := all[0].from
	last := all[len(all)-1]
	blank := blankOf(h)
	points := h.Points[first:]
	at := make([]float64, len(points)) // in seconds since the first point, without long pauses
	top := 1.0
	for i := range points {
		top = max(top, float64(points[i].Tokens))
		if i > 0 {
			at[i] = at[i-1] + float64(min(max(points[i].At-points[i-1].At, 1), pause))
		}
	}
	if s.WindowTokens > 0 {
		top = float64(s.WindowTokens)
	}
	wide := max(at[len(at)-1], 1)
	if blank {
		wide *= 1.1 // room for the cycle that has begun
	}
	x := func(i int) string { return number(100*at[i-first]/wide, 1) }
	y := func(tokens int64) string { return number(98-96*min(1, float64(tokens)/top), 1) }

	var d spark
	if threshold := value(s.ThresholdTokens); threshold > 0 && float64(threshold) <= top {
		d.Limit = y(threshold)
	}
	for _, c := range all {
		dot := -1
		line := path(c, "h.1", func(i int) string {
			before := dot
			dot = int(sparkDots * at[i-first] / wide)
			if dot == before && i < c.to-1 {
				return "" // only the first of several readings on one dot
			}
			return x(i) + " " + y(h.Points[i].Tokens)
		})
		if c.from > first {
			d.Breaks = append(d.Breaks, x(c.from))
		}
		if c == last && !blank {
			d.Now = line
			d.Area = line + "V98H" + x(c.from) + "Z"
		} else {
			d.Earlier += line
		}
	}
	if blank {
		d.Breaks = append(d.Breaks, number(100*at[len(at)-1]/wide+4, 1))
		d.Label = "no reading in this cycle yet"
		return d
	}
	d.Label = "this cycle from " + short(h.Points[last.from].Tokens) + " to " +
		short(h.Points[last.to-1].Tokens) + " tokens"
	return d
}

// blankOf reports whether a cycle has begun and has no reading yet.
func blankOf(h *curve.History) bool {
	return opens(h, h.Points[len(h.Points)-1].At, math.MaxInt64)
}

// opens reports whether a mark after one time and not after another one opens a
// cycle.
func opens(h *curve.History, after, until int64) bool {
	return slices.ContainsFunc(h.Marks, func(m curve.Mark) bool {
		return after < m.At && m.At <= until && m.Opens()
	})
}

// cycle is a range of points, without to.
type cycle struct{ from, to int }

// cyclesOf splits the points where a cycle begins: at a point that is marked as
// its first, and between two points with a mark that opens a cycle.
func cyclesOf(h *curve.History) (all []cycle) {
	from := 0
	for i := 1; i < len(h.Points); i++ {
		if h.Points[i].First || opens(h, h.Points[i-1].At, h.Points[i].At) {
			all = append(all, cycle{from, i})
			from = i
		}
	}
	return append(all, cycle{from, len(h.Points)})
}
