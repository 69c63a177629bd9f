package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
)

// column describes a column of the list.
type column struct {
	title string
	right bool
	min   int // cells
	max   int
	rank  int // columns with the highest rank go first when there is no room
	width int // of a column that there is room for
	cell  func(c place) string
}

// place is where a column shows a session.
type place struct {
	*api.Session
	list  *list
	width int // cells
}

// columnLines has the columns in their order: title, min, max, rank, and whether it is
// flush right. HOST is for the sessions of several machines.
const columnLines = `HOST 6 16 -1 left
PROJECT 8 16 8 left
NAME 12 40 0 left
ID 8 16 12 left
CONTEXT 10 36 1 left
USED 4 4 2 right
TOKENS 9 11 11 right
TREND 8 30 7 left
REPLIES 7 21 3 right
CMP 3 4 5 right
STATE 10 30 4 left
CYCLE 5 5 13 right
FLAGS 5 22 6 left
SEEN 4 4 9 right
COST 6 7 10 right
MODEL 10 16 14 left
`

func columns() (all []column) {
	cells := map[string]func(place) string{
		"HOST":    func(c place) string { return screen.Text(c.Host) },
		"PROJECT": func(c place) string { return screen.FitEnd(c.Project, c.width) },
		"NAME":    nameCell,
		"ID": func(c place) string {
			return dim(screen.Text(c.list.ids[c.ID]))
		},
		"CONTEXT": barCell,
		"USED":    usedCell,
		"TOKENS":  tokensCell,
		"TREND":   trendCell,
		"REPLIES": repliesCell,
		"CMP":     func(c place) string { return countText(c.Compactions.Total()) },
		"STATE":   stateCell,
		"CYCLE":   func(c place) string { return countText(c.Cycle) },
		"FLAGS":   flagsCell,
		"SEEN":    seenCell,
		"COST":    costCell,
		"MODEL": func(c place) string {
			return dim(screen.Text(strings.TrimPrefix(c.Model, "claude-")))
		},
	}
	for line := range strings.Lines(columnLines) {
		var c column
		side := ""
		if _, err := fmt.Sscan(line, &c.title, &c.min, &c.max, &c.rank, &side); err != nil {
			panic(err) // a mistake in the line
		}
		c.right = side == "right"
		c.cell = cells[c.title]
		all = append(all, c)
	}
	return all
}

// list holds what the cells of several rows share.
type list struct {
	now        time.Time
	selected   string            // an agent's id
	ids        map[string]string // by agent: what to type for it, where its name is not enough
	omit       []string          // titles of columns
	stateWidth int               // of the widest state
}

// newList returns the list of sessions for lines of width cells.
func newList(sessions []api.Session, now time.Time, width int) *list {
	l := &list{now: now, ids: idsOf(sessions, width)}
	shown := map[string]bool{"ID": len(l.ids) > 0}
	for i := range sessions {
		s := &sessions[i]
		shown["HOST"] = shown["HOST"] || s.Host != ""
		shown["COST"] = shown["COST"] || s.CostUSD != nil
		l.stateWidth = max(
			l.stateWidth,
			screen.Cells(waitText(s.State, s.WaitingFor, widestState)),
		)
	}
	for _, title := range []string{"HOST", "ID", "COST"} {
		if !shown[title] {
			l.omit = append(l.omit, title)
		}
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
	sorted := make([]string, len(sessions))
	for i := range sessions {
		sorted[i] = cmp.Or(sessions[i].SessionID, sessions[i].ID)
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)

	ids := map[string]string{}
	for i := range sessions {
		s := &sessions[i]
		name := cmp.Or(s.Name, s.ShortName())
		prints := screen.Text(name) == name
		switch {
		case !titled(s) && prints && screen.Cells(name) <= narrowNames:
		case prints && name != "" && screen.Cells(name) <= longest:
			ids[s.ID] = name
		default:
			ids[s.ID] = uniquePrefix(sorted, cmp.Or(s.SessionID, s.ID))
		}
	}
	return ids
}

// uniquePrefix returns the shortest beginning of id that no other of the sorted ids has.
func uniquePrefix(sorted []string, id string) string {
	at, _ := slices.BinarySearch(sorted, id)
	n := min(shortestID, len(id))
	shared := func(i int) bool {
		return i >= 0 && i < len(sorted) && strings.HasPrefix(sorted[i], id[:n])
	}
	for n < len(id) && (shared(at-1) || shared(at+1)) {
		n++
	}
	return id[:n]
}

// placeColumns returns the columns that fit into width cells, with gap cells
// between them, and shares out the room that is left.
func placeColumns(all []column, width, gap int) []column {
	byRank := slices.SortedFunc(
		slices.Values(all),
		func(a, b column) int { return a.rank - b.rank },
	)
	left := width + gap
	lowest := -1
	for _, c := range byRank {
		if left < c.min+gap {
			break
		}
		left -= c.min + gap
		lowest = c.rank
	}

	out := slices.DeleteFunc(all, func(c column) bool { return c.rank > lowest })
	for i := range out {
		out[i].width = out[i].min
	}
	for grown := true; grown; {
		grown = false
		for i := range out {
			if c := &out[i]; left > 0 && c.width < c.max {
				c.width++
				left--
				grown = true
			}
		}
	}
	return out
}

// columns returns the columns that have something to show.
func (l *list) columns() []column {
	all := slices.DeleteFunc(
		columns(),
		func(c column) bool { return slices.Contains(l.omit, c.title) },
	)
	for i := range all {
		if c := &all[i]; c.title == "STATE" {
			c.max = max(c.min, l.stateWidth)
		}
	}
	return all
}

// titles returns the line above the list.
func titles(columns []column, gap int) string {
	return joinCells(columns, gap, func(c column) string {
		return dim(screen.FitStart(c.title, c.width))
	})
}

// row returns the line of one session.
func (l *list) row(s *api.Session, columns []column, gap int) string {
	return joinCells(
		columns,
		gap,
		func(c column) string { return c.cell(place{s, l, c.width}) },
	)
}

// joinCells makes a line of a cell for each column.
func joinCells(columns []column, gap int, cell func(column) string) string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		text := screen.FitStart(cell(c), c.width)
		pad := strings.Repeat(" ", c.width-screen.Cells(text))
		if c.right {
			cells[i] = pad + text
		} else {
			cells[i] = text + pad
		}
	}
	return strings.Join(cells, strings.Repeat(" ", gap))
}

func nameCell(c place) string {
	colour := ""
	switch {
	case c.ID == c.list.selected:
		colour = screen.Reverse
	case urgency.Resting(c.Session):
		colour = screen.Dim
	}
	name := screen.FitEnd(nameOf(c.Session), c.width)
	if titled(c.Session) { // the beginning of a title says most
		name = screen.FitStart(screen.Text(c.Title), c.width)
	}
	return styled(colour, name)
}

// unknown is the cell of a figure that is missing.
func unknown() string { return dim("–") }

// costCell shows the client's own estimate.
func costCell(c place) string {
	if c.CostUSD == nil {
		return unknown()
	}
	return dollars(*c.CostUSD)
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

// nameOf returns what a session is called: the name that its user gave it, else
// its title, else the beginning of its id, as on the page.
func nameOf(s *api.Session) string { return cmp.Or(s.Name, s.Title, s.ShortName(), s.ID) }

// titled reports whether that is its title, which no command accepts.
func titled(s *api.Session) bool { return s.Name == "" && s.Title != "" }

// barCell shows how full the context is, with a mark at the size at which the
// client compacts.
func barCell(c place) string {
	mark := -1
	if c.ThresholdTokens != nil && c.WindowTokens > 0 && *c.ThresholdTokens > 0 {
		share := float64(*c.ThresholdTokens) / float64(c.WindowTokens)
		mark = min(c.width-1, int(share*float64(c.width)))
	}
	eighths := int(usedShare(c.Session)*float64(c.width)*8 + 0.5)
	bar := []rune(screen.Bar(eighths, c.width))
	draw := func(from, to int) string {
		filled := min(max((eighths+7)/8, from), to)
		return styled(pressureColour(c.Session), string(bar[from:filled])) +
			dim(string(bar[filled:to]))
	}
	if mark < 0 {
		return draw(0, c.width)
	}
	return draw(0, mark) + styled(screen.Magenta, "┃") + draw(mark+1, c.width)
}

// usedShare returns how full a context is, from 0 to 1; 0 while that is unknown.
func usedShare(s *api.Session) float64 {
	if s.TokensUsed == nil || s.WindowTokens <= 0 {
		return 0
	}
	return min(1, max(0, float64(*s.TokensUsed)/float64(s.WindowTokens)))
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

func usedCell(c place) string {
	if c.UsedPercentage == nil {
		return unknown()
	}
	return styled(pressureColour(c.Session), fmt.Sprintf("%d%%", *c.UsedPercentage))
}

func tokensCell(c place) string {
	used := "–"
	if c.TokensUsed != nil {
		used = screen.Tokens(*c.TokensUsed)
	}
	return used + "/" + screen.Tokens(c.WindowTokens)
}

// trendCell draws the last sizes of the context, the newest at the right. The
// whole height is the window.
func trendCell(c place) string {
	marks := []rune("▁▂▃▄▅▆▇█")
	newest := c.Trend[max(0, len(c.Trend)-max(0, c.width)):]
	text := strings.Repeat(" ", max(0, c.width-len(newest)))
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
		return unknown()
	}
	colour := ""
	if replies.Likely < 3 && !urgency.Resting(c.Session) {
		colour = screen.Orange
	}
	if urgency.Replies(replies.Likely) == 0 {
		return styled(colour, "due now")
	}
	text := "≈" + urgency.ReplyCount(replies.Likely)
	if longer := repliesText(replies, ""); screen.Cells(longer) <= c.width {
		text = longer
		if work := workText(c.Forecast.Seconds); work != "" &&
			screen.Cells(text+"; "+work) <= c.width {
			text += "; " + work
		}
	}
	return styled(colour, text)
}

// repliesText formats a forecast in replies as "≈ 40 replies, 25–70".
func repliesText(r *api.Range, unit string) string {
	return fmt.Sprintf(
		"≈ %s%s, %s–%s",
		urgency.ReplyCount(r.Likely),
		unit,
		urgency.ReplyCount(r.Low),
		urgency.ReplyCount(r.High),
	)
}

// workText formats a time of work, "" while unknown.
func workText(r *api.Range) string {
	switch {
	case r == nil:
		return ""
	case r.Likely < 100*60:
		return fmt.Sprintf("%.0f min", max(1, r.Likely/60))
	case r.Likely < 48*3600:
		return fmt.Sprintf("%.0f h", r.Likely/3600)
	}
	return fmt.Sprintf("%.0f days", r.Likely/(24*3600))
}

// countText formats a count in at most four characters.
func countText(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return "many"
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
	return styled(colour, screen.FitEnd(waitText(state, c.WaitingFor, c.width), c.width))
}

// waitText returns a state with what the agent waits for. Where there is no room
// for both, the reason says more than the state.
func waitText(state, reason string, width int) string {
	if reason = screen.Text(reason); reason == "" || state != "waiting" {
		return state
	}
	kind, _, _ := strings.Cut(reason, ":")
	for _, text := range []string{state + ": " + reason, reason, kind} {
		if screen.Cells(text) <= width {
			return text
		}
	}
	return state
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
	queued := "q" + countText(c.Queued)
	flag(c.Queued > 0, queued, queued)
	flag(c.Handoff != "", "handoff "+c.Handoff, "H")
	flag(c.Brake != "", c.Brake, "B")
	flag(!c.Enabled, "off", "-")

	text := screen.Text(strings.Join(words, " "))
	if screen.Cells(text) > c.width {
		text = screen.FitStart(letters, c.width)
	}
	return styled(screen.Yellow, text)
}

// seenCell shows how long ago the session did anything.
func seenCell(c place) string {
	text := strings.TrimSuffix(screen.Ago(c.LastActive, c.list.now), " ago")
	if screen.Cells(text) > c.width { // a time in the future
		return unknown()
	}
	return dim(text)
}
