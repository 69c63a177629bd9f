package page

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
)

// path returns an SVG path through the points of a cycle. place returns the
// coordinates of a point, "" to omit it. A single point is drawn as stroke,
// which is wide enough to be visible.
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

// plane is the area of a chart over time. Coordinates are percentages of its
// size, so that no text is distorted; a curve is a square of 100 by 100 that is
// stretched.
type plane struct {
	From, To int64 // seconds since 1970
	Top      int64 // tokens at the upper edge
	zone     *time.Location
}

// X and Y return the coordinate of a time and of a size.
func (p *plane) X(at int64) string { return number(100*p.x(at), 100) }

func (p *plane) Y(tokens int64) string {
	return number(100*(1-min(1, float64(tokens)/float64(p.Top))), 100)
}

func (p *plane) x(at int64) float64 { return float64(at-p.From) / float64(p.To-p.From) }

// Grid returns the sizes that are marked on the left.
func (p *plane) Grid() []int64 {
	var sizes []int64
	for quarters := range int64(5) {
		sizes = append(sizes, p.Top*quarters/4)
	}
	return sizes
}

// Clock formats a time.
func (p *plane) Clock(at int64) string { return clock(at, p.zone) }

// chart is the size of a context over time.
type chart struct {
	plane
	*curve.History
	Session           *api.Session
	Now, NowArea      string // paths of the present cycle
	Earlier, PastArea string
	Peak, Last        int64  // tokens
	Most              int    // the number of the last point
	Data              string // a plot as JSON, for the script
}

// plot has the points that the script shows below a pointer. Times are seconds since 1970.
type plot struct {
	From      int64       `json:"from"`
	To        int64       `json:"to"`
	Top       int64       `json:"top"`
	Threshold int64       `json:"threshold"`
	Points    [][2]int64  `json:"points"` // time and tokens
	Clocks    []string    `json:"clocks"` // of the points
	Marks     []plotEvent `json:"marks"`
}

type plotEvent struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
}

// chartOf draws the whole history, nil without points.
func chartOf(s *api.Session, h *curve.History, zone *time.Location) *chart {
	if len(h.Points) == 0 {
		return nil
	}
	from, to, peak := span(h)
	c := &chart{
		plane:   plane{from, to, ceiling(peak, s.WindowTokens), zone},
		History: h,
		Session: s,
		Peak:    peak,
		Last:    h.Points[len(h.Points)-1].Tokens,
		Most:    len(h.Points) - 1,
	}
	left := func(i int) string { return c.X(h.Points[i].At) }
	place := func(i int) string { return left(i) + " " + c.Y(h.Points[i].Tokens) }
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
	p := plot{
		From:      from,
		To:        to,
		Top:       c.Top,
		Threshold: value(s.ThresholdTokens),
		Marks:     []plotEvent{},
	}
	for _, x := range h.Points {
		p.Points = append(p.Points, [2]int64{x.At, x.Tokens})
		p.Clocks = append(p.Clocks, c.Clock(x.At))
	}
	for _, m := range h.Marks {
		p.Marks = append(p.Marks, plotEvent{m.At, markTitle(&m)})
	}
	data, _ := json.Marshal(p) // figures and texts: it cannot fail
	c.Data = string(data)
	return c
}

// rule is a horizontal line at a size; Class is compacts or notice.
type rule struct{ Class, Text, At string }

// Rules returns the sizes within the chart at which the client compacts or a
// notice is due.
func (c *chart) Rules() (all []rule) {
	add := func(tokens int64, class, text string) {
		if tokens > 0 && tokens <= c.Top {
			all = append(all, rule{class, text, c.Y(tokens)})
		}
	}
	threshold := value(c.Session.ThresholdTokens)
	add(threshold, "compacts", "compacts "+CompactsAt(threshold, c.Session.ThresholdSource))
	if warned(c.Session) {
		for _, tokens := range []int64{c.Session.WarningTokens, c.Session.CriticalTokens} {
			add(tokens, "notice", "notice at "+short(tokens))
		}
	}
	return all
}

// Kinds returns one mark of each kind in the chart.
func (c *chart) Kinds() (all []curve.Mark) {
	for _, m := range c.Marks {
		m = curve.Mark{Kind: m.Kind}
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// SizeAt returns the size of the context at a mark. A mark without a size has
// that of the last point before, unless it opens a cycle: a notice about a
// context that was just emptied is about the size before.
func (c *chart) SizeAt(m *curve.Mark) (tokens int64) {
	if m.Tokens != 0 || m.Opens() {
		return m.Tokens
	}
	for _, x := range c.Points {
		if x.At <= m.At {
			tokens = x.Tokens
		}
	}
	return tokens
}

// ruler is a mark of the time axis.
type ruler struct{ At, Text, Day, Class string }

// Times returns at most eight round times, each with its day if that differs
// from the one before.
func (p *plane) Times() (all []ruler) {
	const minute, hour, day = 60, 3600, 86400
	step := int64(1)
	for _, step = range []int64{
		1, 5, 10, 30, minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour,
		day, 2 * day, 7 * day, 30 * day, 100 * day, 365 * day,
	} {
		if (p.To-p.From)/step < 6 {
			break
		}
	}
	form := "15:04"
	if step < minute {
		form = "15:04:05"
	}
	_, shift := time.Unix(p.From, 0).In(p.zone).Zone() // so that times are round in this zone
	today := ""
	at := (p.From+int64(shift)+step-1)/step*step - int64(shift)
	for ; at <= p.To && len(all) < 8; at += step {
		t := time.Unix(at, 0).In(p.zone)
		r := ruler{At: p.X(at), Text: t.Format(form), Class: "middle"}
		if share := p.x(at); share < 0.03 {
			r.Class = "start"
		} else if share > 0.97 {
			r.Class = "end"
		}
		if d := t.Format("Jan 2"); d != today {
			r.Day = d
			today = d
		}
		all = append(all, r)
	}
	return all
}

// span returns the time that a history covers, at least a minute, and the size
// of its largest context.
func span(h *curve.History) (from, to, peak int64) {
	from = h.Points[0].At
	to = h.Points[len(h.Points)-1].At
	for _, x := range h.Points {
		peak = max(peak, x.Tokens)
	}
	for _, m := range h.Marks {
		from = min(from, m.At)
		to = max(to, m.At)
		peak = max(peak, m.Tokens)
	}
	if to-from < 60 {
		from = to - 60
	}
	return from, to, peak
}

// ceiling returns the size at the upper edge: the window, unless the curve
// would be too flat.
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

// markTitle describes a mark.
func markTitle(m *curve.Mark) string {
	text := map[string]string{
		"compaction": "compacted",
		"clear":      "cleared",
		"session":    "another session",
		"handoff":    "handed over",
		"rewind":     "rewound",
		"storm":      "compaction storm",
	}[m.Kind]
	if text == "" {
		text = "notice: " + words(m.Kind)
	}
	if m.Kind == "compaction" && m.Cause != "" {
		text += " (" + m.Cause + ")"
	}
	if m.Tokens > 0 {
		text += " at " + short(m.Tokens)
	}
	return text
}
