package page

import (
	"math"
	"strings"
	"time"
)

// pause is the longest that a stretch without readings is drawn in a sparkline: what
// counts there is how the context grows, not when nobody worked.
const pause = 5 * 60

// spark is a sparkline: a square of 100 by 100, stretched to its place.
type spark struct {
	Now, Area, Earlier string // paths
	Breaks             []string
	Label              string
}

// sparkOf draws the last cycles.
func sparkOf(h *History) spark {
	points := h.Points
	if len(points) == 0 {
		return spark{Label: "no readings yet"}
	}
	blank := h.blank()
	at, top := worked(points)
	wide := max(at[len(at)-1], 1)
	if blank {
		wide *= 1.1 // room for the cycle that has begun
	}
	xy := func(i int) (x, y float64) {
		return 100 * at[i] / wide, 96 - 90*float64(points[i].Tokens)/top
	}
	var s spark
	last := 0
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && !points[to].First {
			to++
		}
		line := path(from, to, xy)
		if from > 0 {
			x, _ := xy(from)
			s.Breaks = append(s.Breaks, number(x))
		}
		if last = from; to < len(points) || blank {
			s.Earlier += line
		} else {
			s.Now = line
			left, _ := xy(from)
			right, _ := xy(to - 1)
			s.Area = line + "L" + number(right) + " 100L" + number(left) + " 100Z"
		}
		from = to
	}
	if blank {
		x, _ := xy(len(points) - 1)
		s.Breaks = append(s.Breaks, number(x+4))
		s.Label = "no reading in this cycle yet"
		return s
	}
	first, end := points[last].Tokens, points[len(points)-1].Tokens
	s.Label = "this cycle from " + short(first) + " to " + short(end) + " tokens"
	return s
}

// worked says when each point was, in seconds of work since the first, and how large the
// largest is.
func worked(points []Point) (at []float64, top float64) {
	at, top = make([]float64, len(points)), 1
	for i := range points {
		top = max(top, float64(points[i].Tokens))
		if i > 0 {
			at[i] = at[i-1] + float64(min(max(points[i].At-points[i-1].At, 1), pause))
		}
	}
	return at, top
}

// blank says that a cycle has begun of which there is no reading.
func (h *History) blank() bool {
	for i := len(h.Marks) - 1; i >= 0; i-- {
		if h.Marks[i].opens() {
			return len(h.Points) == 0 || h.Marks[i].At > h.Points[len(h.Points)-1].At
		}
	}
	return false
}

// path joins points; a single one is a stroke wide enough to be seen.
func path(from, to int, xy func(int) (x, y float64)) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		x, y := xy(i)
		b.WriteByte("ML"[min(i-from, 1)])
		b.WriteString(number(x) + " " + number(y))
	}
	if to-from == 1 {
		b.WriteString("h0.01")
	}
	return b.String()
}

// chart is a context's curve over time. Lines and words stand at percentages of its
// size, so that nothing is distorted; the curve is a square of 100 by 100, stretched.
type chart struct {
	Empty       bool
	Line, Area  string
	Grid        []ruler // sizes
	Limits      []ruler // from where levels hold and clients compact
	Times       []ruler
	Marks       []glyph
	Description string
}

type ruler struct{ At, Text, Class string }

// glyph is a mark on the curve.
type glyph struct {
	X, Y, Class, Title string
	Opens              bool
}

// chartOf draws all that is remembered.
func chartOf(r *Row, h *History, zone *time.Location) chart {
	if len(h.Points) == 0 {
		return chart{Empty: true}
	}
	from, to, peak := span(h)
	top := ceiling(peak, r.Window)
	x := func(at int64) float64 { return float64(at-from) / float64(to-from) }
	y := func(tokens int64) float64 { return 1 - min(1, float64(tokens)/float64(top)) }
	xy := func(i int) (float64, float64) { return 100 * x(h.Points[i].At), 100 * y(h.Points[i].Tokens) }
	var c chart
	for i := 0; i < len(h.Points); {
		j := i + 1
		for j < len(h.Points) && !h.Points[j].First {
			j++
		}
		line := path(i, j, xy)
		left, _ := xy(i)
		right, _ := xy(j - 1)
		c.Line += line
		c.Area += line + "L" + number(right) + " 100L" + number(left) + " 100Z"
		i = j
	}
	for i := range int64(5) {
		c.Grid = append(c.Grid, ruler{percent(y(top * i / 4)), short(top * i / 4), ""})
	}
	c.limits(r, top, y)
	form := "15:04"
	if to-from > 20*60*60 {
		form = "Jan 2 15:04"
	}
	for i, anchor := range [...]string{"start", "middle", "end"} {
		at := from + (to-from)*int64(i)/2
		c.Times = append(c.Times, ruler{percent(x(at)), time.Unix(at, 0).In(zone).Format(form), anchor})
	}
	for i := range h.Marks {
		m := &h.Marks[i]
		height := y(m.Tokens)
		if m.Tokens == 0 {
			height = 1
		}
		c.Marks = append(c.Marks, glyph{percent(x(m.At)), percent(height), m.class(), m.title() + ", " + clock(m.At, zone), m.opens()})
	}
	end := h.Points[len(h.Points)-1]
	c.Description = "Context over time, from " + clock(from, zone) + " to " + clock(to, zone) + "; largest " + Thousands(peak) + " tokens, last " + Thousands(end.Tokens) + "."
	return c
}

func (c *chart) limits(r *Row, top int64, y func(int64) float64) {
	for _, l := range [...]struct {
		at          int64
		text, class string
	}{{r.Warning, "warning", "warn"}, {r.Critical, "critical", "critical"}, {r.Threshold, "compacts here", "compacts"}} {
		if l.at > 0 && l.at <= top {
			c.Limits = append(c.Limits, ruler{percent(y(l.at)), l.text + " " + short(l.at), l.class})
		}
	}
}

// span is the time that a history covers, a minute at least, and its largest context.
func span(h *History) (from, to, peak int64) {
	from, to = h.Points[0].At, h.Points[len(h.Points)-1].At
	for i := range h.Points {
		peak = max(peak, h.Points[i].Tokens)
	}
	for i := range h.Marks {
		from, to, peak = min(from, h.Marks[i].At), max(to, h.Marks[i].At), max(peak, h.Marks[i].Tokens)
	}
	if to-from < 60 {
		from = to - 60
	}
	return from, to, peak
}

// ceiling is the size at the upper edge: the window, unless the curve would lie flat.
func ceiling(peak, window int64) int64 {
	if peak*3 >= window && peak <= window && window > 0 {
		return window
	}
	unit := math.Pow(10, math.Floor(math.Log10(max(float64(peak), 1))))
	for _, n := range [...]float64{1.2, 2, 4, 6, 8, 12} {
		if top := int64(n * unit); float64(peak)*1.05 <= float64(top) {
			return max(top, 4)
		}
	}
	return peak * 2
}

// class says how a mark is drawn.
func (m *Mark) class() string {
	switch m.Kind {
	case "warning":
		return "warn"
	case "critical", "storm":
		return "critical"
	case "compaction", "clear", "session", "handoff", "rewind":
		return m.Kind
	}
	return "other"
}

// title is what a mark says.
func (m *Mark) title() string {
	text := ""
	switch m.Kind {
	case "compaction":
		text = "compacted"
		if m.Cause != "" {
			text += " (" + m.Cause + ")"
		}
	case "clear":
		text = "cleared"
	case "session":
		text = "another session"
	case "handoff":
		text = "handed over"
	case "rewind":
		text = "rewound"
	case "compacted":
		text = "notice: compacted"
	case "storm":
		text = "notice: storm of compactions"
	case "no_data":
		text = "notice: no data"
	default:
		text = "notice: " + words(m.Kind)
	}
	if m.Tokens > 0 {
		text += " at " + Thousands(m.Tokens)
	}
	return text
}
