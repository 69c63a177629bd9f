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

// column describes a column of the list. The template with its title makes its
// cells.
type column struct {
	title string
	side  string // left or right alignment
	min   int    // cells
	max   int    // cells
	width int    // cells; 0 while it is not shown
}

// place is a cell of the list with its session.
type place struct {
	*api.Session
	Width    int    // cells
	Typed    string // the argument of commands for it, if that is not its name
	Selected bool
	Mixed    bool // some agents get notices
}

// columnLines has a line for each column, from left to right: title, min, max,
// side, and the template of a cell.
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

// cellText has the longer cells. Flags show waiting messages, a handoff, what
// would refuse one, and missing notices; as letters if there is no room for
// words.
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

// steps is the order in which columns get room: at first their min; with a
// number as much as their texts need, up to that number.
const steps = "HOST NAME CONTEXT PRESSURE USED REPLIES STATE PROJECT NAME:18 FLAGS NAME:24 " +
	"PROJECT:20 STATE:16 HOST:30 TOKENS NAME:40 SEEN COST NAME:80 CMP TREND ID MODEL CYCLE REPLIES:21"

// list draws one line for each session.
type list struct {
	selected string            // an agent's id
	ids      map[string]string // by agent: the argument of commands, if it is not the name
	columns  []column
	gap      int // cells between columns
	mixed    bool
	cells    *template.Template
}

// maxMeasured limits the sessions that determine the widths of columns, which
// are measured after each key.
const maxMeasured = 100

// newList returns a list without columns that are empty or omitted.
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
		if c.title == "ID" { // a cut id cannot be typed
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
	shortestID  = 8  // characters; the observer accepts no shorter prefix of an id
	longestID   = 16 // cells of a name in the column ID
	narrowNames = 12 // the minimum width of the column NAME, in cells
)

// idsOf returns the arguments of commands for sessions whose name may be cut or
// is not unique: the name if it is short and unique, else the shortest unique
// prefix of the session's id.
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

// fit distributes width cells: to the columns of first, then in the order of
// steps. Names get the rest before columns for which there is no room.
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

// line returns the line of a session, or the titles of the columns for nil.
// Lines of idle and quiet sessions are dim.
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

// nameOf returns the name of a session in width cells. It cuts the end of a
// title, and the beginning of a name.
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

// pressureColour returns the colour of a context, "" if it needs no attention.
func pressureColour(s *api.Session) string {
	return map[string]string{
		"rising":   screen.Yellow,
		"high":     screen.Orange,
		"imminent": screen.Red,
	}[s.PressureLevel]
}

// trend draws the last sizes of the context in height lines, the newest on the
// right. The whole height is the window.
func trend(c place, height int) (lines []string) {
	marks := []rune(" ▁▂▃▄▅▆▇█")
	wide := max(1, c.Width/30) // there are at most 30 sizes
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

// stateText returns a state with the reason why the agent waits. If there is no
// room for both, it returns the reason, which is more useful.
func stateText(s *api.Session, width int) string {
	reason := screen.Text(s.WaitingFor)
	if doing := screen.Text(page.Doing(s)); doing != "waiting" || reason == "" {
		return doing
	}
	kind, _, _ := strings.Cut(reason, ":")
	return fitting(width, "waiting: "+reason, reason, kind, "waiting")
}
