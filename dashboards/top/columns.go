package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/charmbracelet/x/ansi"

	"sm/dashboards/page"
	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
)

// column describes a column of the list. Its cells are made by the template of
// its title.
type column struct {
	title string
	side  string // left, right
	min   int    // cells
	max   int
	width int // 0 while it has no room
}

// place is where a column shows a session.
type place struct {
	*api.Session
	Width    int    // cells
	Typed    string // what selects it in a command, where its name does not
	Selected bool
	Mixed    bool // other agents get notices
}

// columnLines has the columns from left to right: title, min, max, side, and the
// template of a cell.
const columnLines = `HOST 6 30 left {{text .Host}}
PROJECT 8 20 left {{text .Project}}
NAME 12 80 left {{if .Selected}}{{reverse (name .Session .Width)}}{{else}}{{name .Session .Width}}{{end}}
ID 36 36 left {{dim (text .Typed)}}
CONTEXT 10 36 left {{context .}}
PRESSURE 8 8 right {{with .Pressure}}{{pressure $ (print (percent .) "%")}}{{else}}{{dim "–"}}{{end}}
USED 4 4 right {{with .UsedPercentage}}{{value .}}%{{else}}{{dim "–"}}{{end}}
TOKENS 6 6 right {{with .TokensUsed}}{{tokens .}}{{else}}{{dim "–"}}{{end}}
TREND 8 30 left {{index (trend . 1) 0}}
REPLIES 7 21 right {{template "replies" .}}
CMP 3 4 right {{.Compactions.Total}}
STATE 10 30 left {{template "state" .}}
CYCLE 5 5 right {{.Cycle}}
FLAGS 5 22 left {{template "flags" .}}
SEEN 4 4 right {{dim (seen .)}}
COST 13 13 right {{template "cost" .}}
MODEL 10 24 left {{dim (text (model .Session))}}`

// cellText has the longer cells. Flags are messages that wait, a handoff, what prevents
// one, and that notices are off, in letters where there is no room for words.
const cellText = `
{{- define "replies"}}{{with forecast .Session}}{{$n := count .Likely}}
	{{- $range := printf "≈ %s, %s–%s" $n (count .Low) (count .High)}}{{$work := $range}}
	{{- with $.Forecast.Seconds}}{{$work = print $range "; " (work .Likely)}}{{end}}
	{{- if eq $n "0"}}due now{{else}}{{fitting $.Width $work $range (print "≈" $n)}}{{end}}
{{- else}}{{dim "–"}}{{end}}{{end}}

{{- define "state"}}{{$text := fitEnd (state .Session .Width) .Width}}
	{{- if .IsCompacting}}{{magenta $text}}{{else if eq .State "waiting"}}{{yellow $text}}{{else}}{{$text}}{{end}}
{{- end}}

{{- define "cost"}}{{with .CostUSD}}{{dollars (value .)}}{{else}}
	{{- with .EstimatedUSD}}≈{{dollars (value .)}} est.{{end}}{{end}}
{{- end}}

{{- define "flags"}}{{$words := ""}}{{$letters := ""}}
	{{- with .Queued}}{{$words = print "q" .}}{{$letters = $words}}{{end}}
	{{- with .Handoff}}{{$words = print $words " handoff " .}}{{$letters = print $letters "H"}}{{end}}
	{{- with .Brake}}{{$words = print $words " " .}}{{$letters = print $letters "B"}}{{end}}
	{{- if not .Enabled}}{{$words = print $words " off"}}{{$letters = print $letters "-"}}
	{{- else if and .Mixed (unreached .Session)}}{{$words = print $words " no notices"}}{{$letters = print $letters "-"}}{{end}}
	{{- fitting .Width (text $words) $letters}}
{{- end}}`

// steps is the order in which columns get room: their min, or as much as their
// texts need up to the number.
const steps = "HOST NAME CONTEXT PRESSURE USED REPLIES STATE PROJECT NAME:18 FLAGS NAME:24 " +
	"PROJECT:20 STATE:16 HOST:30 TOKENS NAME:40 SEEN COST NAME:80 CMP TREND ID MODEL CYCLE REPLIES:21"

// list draws sessions, a line each.
type list struct {
	selected string            // an agent's id
	ids      map[string]string // by agent: what to type for it, where its name is not enough
	columns  []column
	gap      int // cells between columns
	mixed    bool
	cells    *template.Template
}

// maxMeasured limits the sessions that decide how wide the columns are: it takes
// time at each key.
const maxMeasured = 100

// newList returns a list without the columns that have nothing to show, or are
// omitted.
func newList(sessions []api.Session, mixed bool, now time.Time, omit ...string) *list {
	l := &list{
		ids:   idsOf(sessions),
		gap:   1,
		cells: templates(cellText, now),
		mixed: mixed,
	}
	for line := range strings.SplitSeq(columnLines, "\n") {
		var c column
		head, cell, _ := strings.Cut(line, " {{")
		if _, err := fmt.Sscan(head, &c.title, &c.min, &c.max, &c.side); err != nil {
			panic(err) // a mistake in the line
		}
		template.Must(l.cells.New(c.title).Parse("{{" + cell))
		needs := 0
		for i := range min(len(sessions), maxMeasured) {
			needs = max(needs, screen.Cells(l.cell(c.title, &sessions[i], c.max)))
		}
		if c.title == "ID" { // that is cut cannot be typed
			for _, id := range l.ids {
				needs = max(needs, min(screen.Cells(id), c.max))
			}
		}
		if needs > 0 && !slices.Contains(omit, c.title) {
			c.min = max(len(c.title), min(c.min, needs))
			c.max = max(c.min, needs)
			l.columns = append(l.columns, c)
		}
	}
	return l
}

// cell returns a cell of at most width cells.
func (l *list) cell(title string, s *api.Session, width int) string {
	at := place{
		Session:  s,
		Width:    width,
		Typed:    l.ids[s.ID],
		Selected: s.ID == l.selected,
		Mixed:    l.mixed,
	}
	text := screen.FitStart(screen.Execute(l.cells, title, at), width)
	if urgency.Resting(s) && (title != "NAME" || !at.Selected) {
		text = dim(ansi.Strip(text))
	}
	return text
}

const (
	shortestID  = 8  // the observer accepts no shorter beginning of an id
	longestID   = 16 // the most of a name in the column ID
	narrowNames = 12 // the least width of the column NAME
)

// idsOf returns what to type for sessions whose name is not shown whole, or is
// that of several: the name if it is short and unique, else the shortest
// beginning of the session's id that no other has.
func idsOf(sessions []api.Session) map[string]string {
	idOf := func(s *api.Session) string { return cmp.Or(s.SessionID, s.ID) }
	sorted := make([]string, len(sessions))
	shown := map[string]int{}
	for i := range sessions {
		sorted[i] = idOf(&sessions[i])
		shown[sessions[i].DisplayName()]++
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)

	ids := map[string]string{}
	for i := range sessions {
		s := &sessions[i]
		name := cmp.Or(s.Name, s.ShortName())
		typed := screen.Text(name) == name && (titled(s) || shown[name] < 2)
		switch {
		case !titled(s) && typed && screen.Cells(name) <= narrowNames:
		case typed && name != "" && screen.Cells(name) <= longestID:
			ids[s.ID] = name
		default:
			id := idOf(s)
			n := min(shortestID, len(id))
			at, _ := slices.BinarySearch(sorted, id)
			for _, other := range sorted[max(0, at-1):min(len(sorted), at+2)] {
				for n < len(id) && other != id && strings.HasPrefix(other, id[:n]) {
					n++
				}
			}
			ids[s.ID] = id[:n]
		}
	}
	return ids
}

// fit gives width cells to the columns: those of first, then in the order of
// steps. Names come before the columns that there is no room for.
func (l *list) fit(width int, first string) {
	left := width + l.gap
	grow := func(c *column, limit int) {
		n := max(0, min(left, min(c.max, limit)-c.width))
		c.width += n
		left -= n
	}
	for step := range strings.FieldsSeq(first + steps + " NAME:80 PROJECT:20") {
		title, number, grows := strings.Cut(step, ":")
		i := slices.IndexFunc(l.columns, func(c column) bool { return c.title == title })
		switch {
		case i < 0:
		case grows && l.columns[i].width > 0:
			limit, _ := strconv.Atoi(number)
			grow(&l.columns[i], limit)
		case !grows && l.columns[i].width == 0 && left >= l.columns[i].min+l.gap:
			left -= l.gap
			grow(&l.columns[i], l.columns[i].min)
		}
	}
	l.columns = slices.DeleteFunc(l.columns, func(c column) bool { return c.width == 0 })
	for before := -1; before != left; {
		before = left
		for i := range l.columns {
			grow(&l.columns[i], l.columns[i].width+1)
		}
	}
}

// line returns the line of a session, or the titles of the columns for nil. What
// rests is dim.
func (l *list) line(s *api.Session) string {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		text := dim(screen.FitStart(c.title, c.width))
		if s != nil {
			text = l.cell(c.title, s, c.width)
		}
		pad := strings.Repeat(" ", c.width-screen.Cells(text))
		if c.side == "right" {
			cells[i] = pad + text
		} else {
			cells[i] = text + pad
		}
	}
	return strings.Join(cells, strings.Repeat(" ", l.gap))
}

// nameOf returns what a session is called, in width cells: of a title the
// beginning, of a name the end.
func nameOf(s *api.Session, width int) string {
	if titled(s) {
		return screen.FitStart(screen.Text(s.Title), width)
	}
	return screen.FitEnd(s.DisplayName(), width)
}

// dollars formats an amount in at most seven characters.
func dollars(usd float64) string {
	switch {
	case usd < 100:
		return fmt.Sprintf("$%.2f", max(0, usd))
	case usd < 1e5:
		return fmt.Sprintf("$%.0f", usd)
	}
	return fmt.Sprintf("$%.0fk", min(usd/1000, 99999))
}

// titled reports whether nameOf returns the title.
func titled(s *api.Session) bool { return s.Name == "" && s.Title != "" }

// barCell shows how full the context is, with a mark at the size at which the
// client compacts.
func barCell(c place) string {
	eighths := int(max(0, page.Share(c.Session))*float64(c.Width)*8 + 0.5)
	bar := []rune(screen.Bar(eighths, c.Width))
	if c.ThresholdTokens != nil && c.WindowTokens > 0 && *c.ThresholdTokens > 0 {
		share := float64(*c.ThresholdTokens) / float64(c.WindowTokens)
		bar[min(c.Width-1, int(share*float64(c.Width)))] = '┃'
	}
	filled := (eighths + 7) / 8
	return styled(pressureColour(c.Session), string(bar[:filled])) + dim(string(bar[filled:]))
}

// pressureColour returns the colour of a context: only what needs attention has one.
func pressureColour(s *api.Session) string {
	return map[string]string{
		"rising":   screen.Yellow,
		"high":     screen.Orange,
		"imminent": screen.Red,
	}[s.PressureLevel]
}

// trend draws the last sizes of the context in some lines, the newest at the
// right. The whole height is the window.
func trend(c place, height int) (lines []string) {
	marks := []rune(" ▁▂▃▄▅▆▇█")
	wide := max(1, c.Width/30) // of the 30 sizes at most
	newest := c.Trend[max(0, len(c.Trend)-max(0, c.Width/wide)):]
	for below := height - 1; below >= 0; below-- {
		text := strings.Repeat(" ", max(0, c.Width-wide*len(newest)))
		for _, share := range newest {
			eighths := max(1, int(share*float64(8*height)+0.999)) - 8*below
			text += strings.Repeat(string(marks[min(max(eighths, 0), 8)]), wide)
		}
		lines = append(lines, styled(pressureColour(c.Session), text))
	}
	return lines
}

// fitting returns the first text that fits into width cells, else the last.
func fitting(width int, texts ...string) string {
	for _, text := range texts {
		if screen.Cells(text) <= width {
			return text
		}
	}
	return texts[len(texts)-1]
}

// stateText returns a state with what the agent waits for. Where there is no room
// for both, the reason is more useful than the state.
func stateText(s *api.Session, width int) string {
	reason := screen.Text(s.WaitingFor)
	if doing := screen.Text(page.Doing(s)); doing != "waiting" || reason == "" {
		return doing
	}
	kind, _, _ := strings.Cut(reason, ":")
	return fitting(width, "waiting: "+reason, reason, kind, "waiting")
}
