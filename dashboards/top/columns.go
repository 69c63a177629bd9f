package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

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
	rank  int // columns with the highest rank go first when there is no room
	width int // of a column that there is room for
}

// place is where a column shows a session.
type place struct {
	*api.Session
	Width    int    // cells
	Typed    string // what selects it in a command, where its name does not
	Selected bool
}

// columnLines has the columns in their order: title, min, max, rank, side, and
// the template of a cell.
const columnLines = `HOST 6 16 -1 left {{text .Host}}
PROJECT 8 16 8 left {{fitEnd .Project .Width}}
NAME 12 40 0 left {{name .}}
ID 8 16 12 left {{dim (text .Typed)}}
CONTEXT 10 36 1 left {{context .}}
USED 4 4 2 right {{with .UsedPercentage}}{{pressure $ (print (value .) "%")}}{{else}}{{dim "–"}}{{end}}
TOKENS 9 11 11 right {{with .TokensUsed}}{{tokens .}}{{else}}–{{end}}/{{tokens .WindowTokens}}
TREND 8 30 7 left {{trend .}}
REPLIES 7 21 3 right {{replies .}}
CMP 3 4 5 right {{.Compactions.Total}}
STATE 10 30 4 left {{state .}}
CYCLE 5 5 13 right {{.Cycle}}
FLAGS 5 22 6 left {{flags .}}
SEEN 4 4 9 right {{dim (seen .)}}
COST 6 7 10 right {{with .CostUSD}}{{dollars .}}{{else}}{{dim "–"}}{{end}}
MODEL 10 16 14 left {{dim (text (trimPrefix .Model "claude-"))}}`

// list draws sessions, a line each.
type list struct {
	selected string            // an agent's id
	ids      map[string]string // by agent: what to type for it, where its name is not enough
	columns  []column
	gap      int // cells between columns
	cells    *template.Template
}

// newList returns a list without the columns that have nothing to show, or are
// omitted.
func newList(sessions []api.Session, now time.Time, width int, omit ...string) *list {
	l := &list{ids: idsOf(sessions, width), gap: 1, cells: templates("", now)}
	shown := map[string]bool{"ID": len(l.ids) > 0, "HOST": false, "COST": false}
	widest := 0
	for i := range sessions {
		s := &sessions[i]
		shown["HOST"] = shown["HOST"] || s.Host != ""
		shown["COST"] = shown["COST"] || s.CostUSD != nil
		widest = max(widest, screen.Cells(waitText(s.State, s.WaitingFor, widestState)))
	}
	for line := range strings.SplitSeq(columnLines, "\n") {
		var c column
		head, cell, _ := strings.Cut(line, " {{")
		if _, err := fmt.Sscan(head, &c.title, &c.min, &c.max, &c.rank, &c.side); err != nil {
			panic(err) // a mistake in the line
		}
		if known, depends := shown[c.title]; depends && !known ||
			slices.Contains(omit, c.title) {
			continue
		}
		if c.title == "STATE" {
			c.max = max(c.min, widest)
		}
		template.Must(l.cells.New(c.title).Parse("{{" + cell))
		l.columns = append(l.columns, c)
	}
	return l
}

const (
	shortestID  = 8  // the observer accepts no shorter beginning of an id
	narrowNames = 12 // the least width of the column NAME
	widestState = 30
)

// idsOf returns what to type for sessions whose name is not shown whole: the
// name if it is short, else the shortest beginning of the session's id that no
// other has.
func idsOf(sessions []api.Session, width int) map[string]string {
	longest := shortestID
	if width >= 120 {
		longest = 16
	}
	all := make([]string, len(sessions))
	for i := range sessions {
		all[i] = cmp.Or(sessions[i].SessionID, sessions[i].ID)
	}

	ids := map[string]string{}
	for i, id := range all {
		s := &sessions[i]
		name := cmp.Or(s.Name, s.ShortName())
		prints := screen.Text(name) == name
		switch {
		case !titled(s) && prints && screen.Cells(name) <= narrowNames:
		case prints && name != "" && screen.Cells(name) <= longest:
			ids[s.ID] = name
		default:
			n := min(shortestID, len(id))
			shared := func(other string) bool {
				return other != id && strings.HasPrefix(other, id[:n])
			}
			for n < len(id) && slices.ContainsFunc(all, shared) {
				n++
			}
			ids[s.ID] = id[:n]
		}
	}
	return ids
}

// fit keeps the columns that fit into width cells, and shares out the room that
// is left.
func (l *list) fit(width int) {
	byRank := slices.SortedFunc(
		slices.Values(l.columns),
		func(a, b column) int { return a.rank - b.rank },
	)
	left := width + l.gap
	lowest := -1
	for _, c := range byRank {
		if left < c.min+l.gap {
			break
		}
		left -= c.min + l.gap
		lowest = c.rank
	}
	l.columns = slices.DeleteFunc(l.columns, func(c column) bool { return c.rank > lowest })
	for i := range l.columns {
		l.columns[i].width = l.columns[i].min
	}
	for grown := true; grown; {
		grown = false
		for i := range l.columns {
			if c := &l.columns[i]; left > 0 && c.width < c.max {
				c.width++
				left--
				grown = true
			}
		}
	}
}

// line returns the line of a session, or the titles of the columns for nil.
func (l *list) line(s *api.Session) string {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		text := dim(screen.FitStart(c.title, c.width))
		if s != nil {
			at := place{s, c.width, l.ids[s.ID], s.ID == l.selected}
			text = screen.FitStart(execute(l.cells, c.title, at), c.width)
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

func nameCell(c place) string {
	colour := ""
	switch {
	case c.Selected:
		colour = screen.Reverse
	case urgency.Resting(c.Session):
		colour = screen.Dim
	}
	name := screen.FitEnd(c.Session.DisplayName(), c.Width)
	if titled(c.Session) { // the beginning of a title is what matters
		name = screen.FitStart(screen.Text(c.Title), c.Width)
	}
	return styled(colour, name)
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

// titled reports whether that is its title, which no command accepts.
func titled(s *api.Session) bool { return s.Name == "" && s.Title != "" }

// barCell shows how full the context is, with a mark at the size at which the
// client compacts.
func barCell(c place) string {
	mark := c.Width // none
	if c.ThresholdTokens != nil && c.WindowTokens > 0 && *c.ThresholdTokens > 0 {
		share := float64(*c.ThresholdTokens) / float64(c.WindowTokens)
		mark = min(c.Width-1, int(share*float64(c.Width)))
	}
	eighths := int(max(0, page.Share(c.Session))*float64(c.Width)*8 + 0.5)
	bar := []rune(screen.Bar(eighths, c.Width))
	draw := func(from, to int) string {
		filled := min(max((eighths+7)/8, from), to)
		return styled(pressureColour(c.Session), string(bar[from:filled])) +
			dim(string(bar[filled:to]))
	}
	text := draw(0, mark)
	if mark < c.Width {
		text += styled(screen.Magenta, "┃") + draw(mark+1, c.Width)
	}
	return text
}

// pressureColour returns the colour of a context. It is dim while the agent
// rests, as nothing changes then.
func pressureColour(s *api.Session) string {
	if urgency.Resting(s) {
		return screen.Dim
	}
	return cmp.Or(map[string]string{
		"calm":     screen.Green,
		"rising":   screen.Yellow,
		"high":     screen.Orange,
		"imminent": screen.Red,
	}[s.PressureLevel], screen.Dim)
}

// trendCell draws the last sizes of the context, the newest at the right. The
// whole height is the window.
func trendCell(c place) string {
	marks := []rune("▁▂▃▄▅▆▇█")
	newest := c.Trend[max(0, len(c.Trend)-max(0, c.Width)):]
	text := strings.Repeat(" ", max(0, c.Width-len(newest)))
	for _, share := range newest {
		height := int(share*float64(len(marks)) + 0.999)
		text += string(marks[min(max(height, 1), len(marks))-1])
	}
	return styled(pressureColour(c.Session), text)
}

// repliesCell shows in about how many replies of the model the client compacts.
func repliesCell(c place) string {
	replies := urgency.Forecast(c.Session)
	if replies == nil {
		return dim("–")
	}
	colour := ""
	if replies.Likely < 3 && !urgency.Resting(c.Session) {
		colour = screen.Orange
	}
	count := urgency.ReplyCount(replies.Likely)
	if count == "0" {
		return styled(colour, "due now")
	}
	text := "≈ " + count + ", " + urgency.ReplyCount(replies.Low) + "–" + urgency.ReplyCount(replies.High)
	long := text
	if work := c.Forecast.Seconds; work != nil {
		long += "; " + page.Work(work.Likely)
	}
	return styled(colour, fitting(c.Width, long, text, "≈"+count))
}

// fitting returns the first text that fits into width cells, else the last.
func fitting(width int, texts ...string) string {
	for i, text := range texts {
		if i == len(texts)-1 || screen.Cells(text) <= width {
			return text
		}
	}
	return ""
}

func stateCell(c place) string {
	state := c.State
	colour := screen.Yellow
	switch {
	case c.IsCompacting:
		state = "compacting"
		colour = screen.Magenta
	case state == "busy":
		colour = screen.Green
	case urgency.Resting(c.Session):
		colour = screen.Dim
	}
	return styled(colour, screen.FitEnd(waitText(state, c.WaitingFor, c.Width), c.Width))
}

// waitText returns a state with what the agent waits for. Where there is no room
// for both, the reason is more useful than the state.
func waitText(state, reason string, width int) string {
	if reason = screen.Text(reason); reason == "" || state != "waiting" {
		return state
	}
	kind, _, _ := strings.Cut(reason, ":")
	return fitting(width, state+": "+reason, reason, kind, state)
}

// flagsCell shows messages that wait, a handoff, what prevents one, and that
// notices are off: in letters where there is no room for words.
func flagsCell(c place) string {
	var words []string
	letters := ""
	flag := func(set bool, word, letter string) {
		if set {
			words = append(words, word)
			letters += letter
		}
	}
	queued := "q" + strconv.Itoa(c.Queued)
	flag(c.Queued > 0, queued, queued)
	flag(c.Handoff != "", "handoff "+c.Handoff, "H")
	flag(c.Brake != "", c.Brake, "B")
	flag(!c.Enabled, "off", "-")

	text := fitting(c.Width, screen.Text(strings.Join(words, " ")), letters)
	return styled(screen.Yellow, text)
}
