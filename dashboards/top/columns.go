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

// column is a column of the list.
type column struct {
	title string
	right bool
	// min and max are its width in cells; rank says how long it stays when there is no room, 0 longest.
	min, max, rank int
	cell           func(l *list, s *api.Session, width int) []span
}

func columns() []column {
	return []column{
		{"PROJECT", false, 8, 16, 8, func(_ *list, s *api.Session, w int) []span { return []span{{screen.FitEnd(s.Project, w), ""}} }},
		{"NAME", false, 12, 40, 0, nameCell},
		{"ID", false, shortestID, 16, 12, idCell},
		{"CONTEXT", false, 10, 36, 1, barCell},
		{"USED", true, 4, 4, 2, usedCell},
		{"TOKENS", true, 9, 11, 11, tokensCell},
		{"TREND", false, 8, 30, 7, trendCell},
		{"REPLIES", true, 7, 21, 3, repliesCell},
		{"CMP", true, 3, 4, 5, func(_ *list, s *api.Session, _ int) []span { return []span{{countText(compactionCount(s)), ""}} }},
		{"STATE", false, 10, widestState, 4, stateCell},
		{"CYCLE", true, 5, 5, 13, func(_ *list, s *api.Session, _ int) []span { return []span{{countText(s.Cycle), ""}} }},
		{"FLAGS", false, 5, 22, 6, flagsCell},
		{"SEEN", true, 4, 4, 9, seenCell},
		{"COST", true, 6, 7, 10, costCell},
		{"MODEL", false, 10, 16, 14, func(_ *list, s *api.Session, w int) []span {
			return []span{{screen.FitStart(screen.Text(strings.TrimPrefix(s.Model, "claude-")), w), screen.Dim}}
		}},
	}
}

// list is what the cells of a list go by.
type list struct {
	now      time.Time
	selected string            // an agent's id
	ids      map[string]string // by agent: what to type to mean it, where its name does not say that
	omit     []string          // columns that say nothing here
	state    int               // the widest state
	hosts    bool              // several machines are looked at
}

// newList is for sessions in lines of so many cells.
func newList(sessions []api.Session, now time.Time, width int) *list {
	l := &list{now: now, ids: idsOf(sessions, width), hosts: slices.ContainsFunc(sessions, func(s api.Session) bool { return s.Host != "" })}
	for i := range sessions {
		l.state = max(l.state, screen.Cells(waitText(sessions[i].State, sessions[i].WaitingFor, widestState)))
	}
	if len(l.ids) == 0 {
		l.omit = append(l.omit, "ID")
	}
	if !slices.ContainsFunc(sessions, func(s api.Session) bool { return s.CostUSD != nil }) {
		l.omit = append(l.omit, "COST")
	}
	return l
}

const (
	shortestID  = 8  // as much of an id as the observer wants to see
	narrowNames = 12 // the least width of the column with names
	widestState = 30
)

// idsOf are what to type to mean sessions whose name is not shown whole: the name, where it is short, else the shortest
// beginning of the session's id that no other has, of at least 8 characters.
func idsOf(sessions []api.Session, width int) map[string]string {
	longest := shortestID
	if width >= 120 {
		longest = 16
	}
	all := make([]string, len(sessions))
	for i := range sessions {
		all[i] = cmp.Or(sessions[i].SessionID, sessions[i].ID)
	}
	slices.Sort(all)
	ids := map[string]string{}
	for i := range sessions {
		s := &sessions[i]
		name := cmp.Or(s.Name, s.ShortName())
		fits := screen.Text(name) == name
		switch id := cmp.Or(s.SessionID, s.ID); {
		case !titled(s) && fits && screen.Cells(name) <= narrowNames:
		case fits && name != "" && screen.Cells(name) <= longest:
			ids[s.ID] = name
		default:
			ids[s.ID] = uniquePrefix(all, id)
		}
	}
	return ids
}

// uniquePrefix is the shortest beginning of an id of a sorted list that no other id of it has.
func uniquePrefix(sorted []string, id string) string {
	at, _ := slices.BinarySearch(sorted, id)
	n := shortestID
	for _, near := range []int{at - 1, at + 1} {
		if near >= 0 && near < len(sorted) && sorted[near] != id {
			n = max(n, commonBytes(sorted[near], id)+1)
		}
	}
	return id[:min(n, len(id))]
}

func commonBytes(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// placed is a column that there is room for.
type placed struct {
	column
	width int
}

// placeColumns chooses of some columns those for so many cells, with gap cells between them, and shares out what is left.
func placeColumns(all []column, width, gap int) []placed {
	var out []placed
	byRank := slices.Clone(all)
	slices.SortFunc(byRank, func(a, b column) int { return a.rank - b.rank })
	used, most := -gap, -1
	for _, c := range byRank {
		if used += c.min + gap; used > width {
			used -= c.min + gap
			break
		}
		most = c.rank
	}
	for _, c := range all {
		if c.rank <= most {
			out = append(out, placed{c, c.min})
		}
	}
	for left := width - used; left > 0; {
		before := left
		for i := range out {
			if c := &out[i]; left > 0 && c.width < c.max {
				c.width++
				left--
			}
		}
		if left == before {
			break
		}
	}
	return out
}

// columns are those that say something here.
func (l *list) columns() []column {
	all := columns()
	if l.hosts {
		all = slices.Insert(all, 0, column{"HOST", false, 6, 16, -1, func(_ *list, s *api.Session, w int) []span {
			return []span{{screen.FitStart(screen.Text(s.Host), w), ""}}
		}})
	}
	all = slices.DeleteFunc(all, func(c column) bool { return slices.Contains(l.omit, c.title) })
	for i := range all {
		if c := &all[i]; c.title == "STATE" {
			c.max = max(c.min, l.state)
		}
	}
	return all
}

// titles is the line above the list.
func titles(columns []placed, gap int) (line []span) {
	for i, c := range columns {
		line = pad(line, i, gap, c, []span{{screen.FitStart(c.title, c.width), screen.Dim}})
	}
	return line
}

// row is the line of one session.
func (l *list) row(s *api.Session, columns []placed, gap int) (line []span) {
	for i, c := range columns {
		line = pad(line, i, gap, c, c.cell(l, s, c.width))
	}
	return line
}

// pad adds a cell to a line, in the width of its column.
func pad(line []span, i, gap int, c placed, content []span) []span {
	if i > 0 {
		line = append(line, span{strings.Repeat(" ", gap), ""})
	}
	content = fitSpans(content, c.width)
	rest := span{strings.Repeat(" ", c.width-spanCells(content)), ""}
	if c.right {
		return append(append(line, rest), content...)
	}
	return append(append(line, content...), rest)
}

func nameCell(l *list, s *api.Session, width int) []span {
	colour := ""
	switch {
	case s.ID == l.selected:
		colour = screen.Reverse
	case needOf(s) >= urgency.Idles:
		colour = screen.Dim
	}
	if titled(s) {
		return []span{{screen.FitStart(screen.Text(s.Title), width), colour}}
	}
	return []span{{screen.FitEnd(nameOf(s), width), colour}}
}

func idCell(l *list, s *api.Session, width int) []span {
	return []span{{screen.FitStart(screen.Text(l.ids[s.ID]), width), screen.Dim}}
}

// costCell is what the client reckons that the session has cost.
func costCell(_ *list, s *api.Session, _ int) []span {
	if s.CostUSD == nil {
		return []span{{"–", screen.Dim}}
	}
	return []span{{dollars(*s.CostUSD), ""}}
}

// dollars writes an amount in at most seven characters.
func dollars(usd float64) string {
	switch {
	case usd < 100:
		return fmt.Sprintf("$%.2f", max(0, usd))
	case usd < 1e5:
		return fmt.Sprintf("$%.0f", usd)
	}
	return fmt.Sprintf("$%.0fk", min(usd/1000, 99999))
}

// nameOf is what a session is called, as it came: the name that its user gave it, else its title, else the beginning of its
// id. The page calls it the same.
func nameOf(s *api.Session) string { return cmp.Or(s.Name, s.Title, s.ShortName(), s.ID) }

// titled says whether that is its title, which no command takes.
func titled(s *api.Session) bool { return s.Name == "" && s.Title != "" }

// barCell is how full the context is, with a mark at the size at which the client compacts.
func barCell(_ *list, s *api.Session, width int) []span {
	full, known := usedShare(s)
	mark := -1
	if s.ThresholdTokens != nil && s.WindowTokens > 0 && *s.ThresholdTokens > 0 {
		mark = min(width-1, int(float64(*s.ThresholdTokens)/float64(s.WindowTokens)*float64(width)))
	}
	eighths := int(full*float64(width)*8 + 0.5)
	if !known {
		eighths = 0
	}
	var filled, empty strings.Builder
	spans := make([]span, 0, 5)
	flush := func() {
		spans = append(spans, span{filled.String(), pressureColour(s)}, span{empty.String(), screen.Dim})
		filled.Reset()
		empty.Reset()
	}
	for i := range width {
		n := min(8, max(0, eighths-8*i))
		switch {
		case i == mark:
			flush()
			spans = append(spans, span{"┃", screen.Magenta})
		case n > 0:
			filled.WriteRune([]rune("▏▎▍▌▋▊▉█")[n-1])
		default:
			empty.WriteString("·")
		}
	}
	flush()
	return slices.DeleteFunc(spans, func(s span) bool { return s.text == "" })
}

// usedShare is how full a context is, 0 to 1; false while that is unknown.
func usedShare(s *api.Session) (float64, bool) {
	if s.TokensUsed == nil || s.WindowTokens <= 0 {
		return 0, false
	}
	return min(1, max(0, float64(*s.TokensUsed)/float64(s.WindowTokens))), true
}

// pressureColour is the colour of a context by its pressure. Those that do nothing are dim: what they have reached
// changes nothing.
func pressureColour(s *api.Session) string {
	colour, known := map[string]string{
		"calm": screen.Green, "rising": screen.Yellow, "high": screen.Orange, "imminent": screen.Red,
	}[s.PressureLevel]
	if !known || needOf(s) >= urgency.Idles {
		return screen.Dim
	}
	return colour
}

func usedCell(_ *list, s *api.Session, _ int) []span {
	if s.UsedPercentage == nil {
		return []span{{"–", screen.Dim}}
	}
	return []span{{fmt.Sprintf("%d%%", *s.UsedPercentage), pressureColour(s)}}
}

func tokensCell(_ *list, s *api.Session, width int) []span {
	used := "–"
	if s.TokensUsed != nil {
		used = screen.Tokens(*s.TokensUsed)
	}
	return []span{{screen.FitStart(used+"/"+screen.Tokens(s.WindowTokens), width), ""}}
}

// trendCell draws the last sizes of the context, the newest at the right. The whole height is the window.
func trendCell(_ *list, s *api.Session, width int) []span {
	marks := []rune("▁▂▃▄▅▆▇█")
	last := s.Trend[max(0, len(s.Trend)-max(0, width)):]
	text := []rune(strings.Repeat(" ", max(0, width-len(last))))
	for _, share := range last {
		text = append(text, marks[max(0, min(len(marks), int(share*float64(len(marks))+0.999))-1)])
	}
	return []span{{string(text), pressureColour(s)}}
}

// repliesCell is in about how many replies of the model the client compacts.
func repliesCell(_ *list, s *api.Session, width int) []span {
	replies := repliesOf(s)
	if replies == nil {
		return []span{{"–", screen.Dim}}
	}
	colour := ""
	if replies.Likely < 3 && needOf(s) < urgency.Idles {
		colour = screen.Orange
	}
	if urgency.Replies(replies.Likely) == 0 {
		return []span{{"due now", colour}}
	}
	text := "≈" + urgency.ReplyCount(replies.Likely)
	longer := fmt.Sprintf("≈ %s, %s–%s", urgency.ReplyCount(replies.Likely), urgency.ReplyCount(replies.Low), urgency.ReplyCount(replies.High))
	for _, more := range []string{longer, longer + "; " + workText(s.Forecast.Seconds)} {
		if screen.Cells(more) <= width && !strings.HasSuffix(more, "; ") {
			text = more
		}
	}
	return []span{{text, colour}}
}

// workText is a time of work in few words, "" while unknown.
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

// repliesOf is how far the next compaction is in replies; nil while unknown.
func repliesOf(s *api.Session) *api.Range {
	if s.Forecast == nil {
		return nil
	}
	return s.Forecast.Replies
}

// countText writes a count in at most four characters.
func countText(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return "many"
}

func compactionCount(s *api.Session) int {
	return s.Compactions.Total()
}

func stateCell(_ *list, s *api.Session, width int) []span {
	state, colour := s.State, ""
	switch {
	case s.IsCompacting:
		state, colour = "compacting", screen.Magenta
	case state == "busy":
		colour = screen.Green
	case needOf(s) >= urgency.Idles:
		colour = screen.Dim
	default:
		colour = screen.Yellow
	}
	return []span{{screen.FitEnd(waitText(state, s.WaitingFor, width), width), colour}}
}

// waitText is a state with what it needs a person for, as far as there is room: the reason tells more than that it waits.
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

// flagsCell says what is under way: messages that wait, a handoff, what keeps the agent from one, and that notices are
// off. Where there is no room, it says so in letters.
func flagsCell(_ *list, s *api.Session, width int) []span {
	var long, short []string
	flag := func(set bool, words, letter string) {
		if set {
			long, short = append(long, words), append(short, letter)
		}
	}
	flag(s.Queued > 0, "q"+countText(s.Queued), "q"+countText(s.Queued))
	flag(s.Handoff != "", "handoff "+s.Handoff, "H")
	flag(s.Brake != "", s.Brake, "B")
	flag(!s.Enabled, "off", "-")
	text := screen.Text(strings.Join(long, " "))
	if screen.Cells(text) > width {
		text = screen.FitStart(strings.Join(short, ""), width)
	}
	return []span{{text, screen.Yellow}}
}

// seenCell is how long ago the session did anything.
func seenCell(l *list, s *api.Session, width int) []span {
	text := strings.TrimSuffix(screen.Ago(s.LastActive, l.now), " ago")
	if screen.Cells(text) > width {
		text = "–" // it is still to come
	}
	return []span{{text, screen.Dim}}
}
