package page

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
)

// path joins the points of a cycle but those that have no place, ""; a single one is a stroke wide enough to be seen.
func path(c cycle, stroke string, place func(i int) string) string {
	var b strings.Builder
	for i := c.from; i < c.to; i++ {
		if at := place(i); at != "" {
			b.WriteByte("ML"[min(i-c.from, 1)])
			b.WriteString(at)
		}
	}
	if c.to-c.from == 1 {
		b.WriteString(stroke)
	}
	return b.String()
}

// chart is a context's curve over time. Lines and words stand at percentages of its
// size, so that nothing is distorted; the curve is a square of 100 by 100, stretched.
type chart struct {
	Empty             bool
	Now, NowArea      string // of the present cycle
	Earlier, PastArea string
	Grid              []ruler // sizes
	Limits            []ruler // from where notices are due and clients compact
	Times             []ruler
	Marks             []glyph
	Description       string
	Most              int    // the number of the last point
	Data              string // what the script reads out, as JSON
}

type ruler struct{ At, Text, Day, Class string }

// glyph is a mark on the curve.
type glyph struct {
	X, Y, Class, Title string
	Opens              bool
}

// plot is what the script needs to say what lies below a pointer. Times are seconds since 1970.
type plot struct {
	From      int64       `json:"from"`
	To        int64       `json:"to"`
	Top       int64       `json:"top"`
	Window    int64       `json:"window"`
	Threshold int64       `json:"threshold"`
	Points    [][2]int64  `json:"points"` // time and tokens
	Clocks    []string    `json:"clocks"` // of the points
	Marks     []plotEvent `json:"marks"`
}

type plotEvent struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
}

// chartOf draws all that is remembered.
func chartOf(s *api.Session, h *curve.History, zone *time.Location) chart {
	if len(h.Points) == 0 {
		return chart{Empty: true}
	}
	from, to, peak := span(h)
	top := ceiling(peak, s.WindowTokens)
	x := func(at int64) float64 { return float64(at-from) / float64(to-from) }
	y := func(tokens int64) float64 { return 1 - min(1, float64(tokens)/float64(top)) }
	left := func(i int) string { return number(100 * x(h.Points[i].At)) }
	place := func(i int) string { return left(i) + " " + number(100*y(h.Points[i].Tokens)) }
	c := chart{Most: len(h.Points) - 1, Grid: gridOf(top), Times: times(from, to, zone)}
	blank := blankOf(h)
	for _, stretch := range cyclesOf(h) {
		line := path(stretch, "h0.01", place)
		area := line + "L" + left(stretch.to-1) + " 100L" + left(stretch.from) + " 100Z"
		if stretch.to < len(h.Points) || blank {
			c.Earlier += line
			c.PastArea += area
		} else {
			c.Now = line
			c.NowArea = area
		}
	}
	c.limits(s, top, y)
	for i := range h.Marks {
		m := &h.Marks[i]
		if size := sizeAt(h, m); size > 0 || m.Opens() {
			c.Marks = append(
				c.Marks,
				glyph{
					percent(x(m.At)),
					percent(y(size)),
					markClass(m),
					markTitle(m) + ", " + clock(m.At, zone),
					m.Opens(),
				},
			)
		}
	}
	end := h.Points[len(h.Points)-1]
	c.Description = "Context over time, from " + clock(
		from,
		zone,
	) + " to " + clock(
		to,
		zone,
	) + "; largest " + short(peak) + " tokens, last " + short(end.Tokens) + "."
	c.Data = plotData(h, plot{
		From:      from,
		To:        to,
		Top:       top,
		Window:    s.WindowTokens,
		Threshold: value(s.ThresholdTokens),
		Marks:     []plotEvent{},
	}, zone)
	return c
}

// plotData is what the page's script draws from: a plot with the readings and marks of a history.
func plotData(h *curve.History, p plot, zone *time.Location) string {
	for i := range h.Points {
		p.Points = append(p.Points, [2]int64{h.Points[i].At, h.Points[i].Tokens})
		p.Clocks = append(p.Clocks, clock(h.Points[i].At, zone))
	}
	for i := range h.Marks {
		p.Marks = append(p.Marks, plotEvent{h.Marks[i].At, markTitle(&h.Marks[i])})
	}
	b, _ := json.Marshal(p) // figures and texts: it cannot fail
	return string(b)
}

// sizeAt is the context that a mark is about. A notice about a context that was just emptied is about what came before.
func sizeAt(h *curve.History, m *curve.Mark) int64 {
	if m.Tokens == 0 && !m.Opens() {
		return sizeBefore(h, m.At)
	}
	return m.Tokens
}

func (c *chart) limits(s *api.Session, top int64, y func(int64) float64) {
	for _, l := range [...]struct {
		at          int64
		text, class string
	}{
		{s.WarningTokens, "notice at", "notice"},
		{s.CriticalTokens, "critical notice at", "notice"},
		{value(s.ThresholdTokens), "compacts at", "compacts"},
	} {
		if l.at <= 0 || l.at > top {
			continue
		}
		text := l.text + " " + short(l.at)
		if l.class == "compacts" && assumed(s.ThresholdSource) {
			text += " (assumed)"
		}
		c.Limits = append(c.Limits, ruler{At: percent(y(l.at)), Text: text, Class: l.class})
	}
}

// times are at most six round times between two, with the day where that is another than before.
func times(from, to int64, zone *time.Location) (all []ruler) {
	step := int64(1)
	for _, step = range [...]int64{
		1,
		5,
		10,
		30,
		60,
		5 * 60,
		10 * 60,
		30 * 60,
		3600,
		2 * 3600,
		6 * 3600,
		12 * 3600,
		86400,
		2 * 86400,
		7 * 86400,
		30 * 86400,
		365 * 86400,
	} {
		if (to-from)/step < 6 {
			break
		}
	}
	form := "15:04"
	if step < 60 {
		form = "15:04:05"
	}
	_, shift := time.Unix(from, 0).In(zone).Zone() // so that round is what is round there
	day := ""
	for at := (from+int64(shift)+step-1)/step*step - int64(shift); at <= to && len(all) < 8; at += step {
		t := time.Unix(at, 0).In(zone)
		r := ruler{At: percent(float64(at-from) / float64(to-from)), Text: t.Format(form), Class: "middle"}
		switch share := float64(at-from) / float64(to-from); {
		case share < 0.03:
			r.Class = "start"
		case share > 0.97:
			r.Class = "end"
		}
		if d := t.Format("Jan 2"); d != day {
			day = d
			r.Day = d
		}
		all = append(all, r)
	}
	return all
}

// span is the time that a history covers, a minute at least, and its largest context.
func span(h *curve.History) (from, to, peak int64) {
	from = h.Points[0].At
	to = h.Points[len(h.Points)-1].At
	for i := range h.Points {
		peak = max(peak, h.Points[i].Tokens)
	}
	for i := range h.Marks {
		from = min(from, h.Marks[i].At)
		to = max(to, h.Marks[i].At)
		peak = max(peak, h.Marks[i].Tokens)
	}
	if to-from < 60 {
		from = to - 60
	}
	return from, to, peak
}

// before is the size of the context before a time, 0 where none is known.
func sizeBefore(h *curve.History, at int64) (tokens int64) {
	for i := range h.Points {
		if h.Points[i].At > at {
			break
		}
		tokens = h.Points[i].Tokens
	}
	return tokens
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
func markClass(m *curve.Mark) string {
	switch m.Kind {
	case "warning", "critical", "storm", "compaction", "clear", "session", "handoff", "rewind":
		return m.Kind
	}
	return "other"
}

// title is what a mark says.
func markTitle(m *curve.Mark) string {
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
	case "storm":
		text = "notice: storm of compactions"
	default:
		text = "notice: " + words(m.Kind)
	}
	if m.Tokens > 0 {
		text += " at " + short(m.Tokens)
	}
	return text
}
