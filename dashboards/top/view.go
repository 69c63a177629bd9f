package top

import (
	"fmt"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// screen draws what is to be seen: at most height lines of at most width cells.
func (t *model) screen() string {
	if t.width <= 0 || t.height <= 0 {
		return ""
	}
	var lines [][]span
	switch t.view {
	case viewDetail:
		lines = t.detail()
	case viewHelp:
		lines = helpLines()
	default:
		lines = t.list()
	}
	var b strings.Builder
	for i, line := range lines[:min(len(lines), t.height)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		drawSpans(&b, fitSpans(line, t.width), t.colour)
	}
	return b.String()
}

// list is the header, the sessions and the footer.
func (t *model) list() [][]span {
	lines := t.header()
	columns := placeColumns(t.width-2, t.gap())
	lines = append(lines, titles(columns, t.gap()))
	room := t.room()
	t.scroll(room)
	for i := t.first; i < min(len(t.rows), t.first+room); i++ {
		lines = append(lines, t.row(&t.rows[i], columns))
	}
	if len(t.rows) == 0 && room > 0 {
		lines = append(lines, []span{{"  " + t.nothing(), screen.Dim}})
	}
	for len(lines) < t.height-1 {
		lines = append(lines, nil)
	}
	return append(lines[:max(0, t.height-1)], t.footer())
}

// gap is how many cells stand between columns.
func (t *model) gap() int {
	if t.width >= 120 {
		return 2
	}
	return 1
}

// room is how many sessions there is room for.
func (t *model) room() int { return max(0, t.height-len(t.header())-2) }

// scroll keeps the selected row on the screen.
func (t *model) scroll(room int) {
	at := max(0, t.index())
	t.first = max(0, min(t.first, at, len(t.rows)-room))
	if at >= t.first+room {
		t.first = max(0, at-room+1)
	}
}

func (t *model) nothing() string {
	switch {
	case t.filter != "":
		return "nothing is called so; esc clears the filter"
	case t.quiet > 0:
		return "all sessions are quiet; h shows them"
	case t.all.Others > 0:
		return "all sessions have been quiet for long; sm status lists them"
	}
	return "no sessions yet"
}

func titles(columns []placed, gap int) []span {
	line := []span{{"  ", ""}}
	for i, c := range columns {
		line = pad(line, i, gap, c, []span{{screen.FitStart(c.title, c.width), screen.Dim}})
	}
	return line
}

func (t *model) row(s *api.Session, columns []placed) []span {
	mark := "  "
	if s.ID == t.selected {
		mark = "› "
	}
	line := []span{{mark, screen.Bold}}
	for i, c := range columns {
		line = pad(line, i, t.gap(), c, c.cell(t, s, c.width))
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

// header says how the fleet is, and what is wrong, if anything is.
func (t *model) header() [][]span {
	lines := [][]span{t.summary()}
	if !t.gone.IsZero() {
		text := fmt.Sprintf("observer gone since %s; what stands here is from before", t.gone.Local().Format(time.TimeOnly))
		lines = append(lines, []span{{text, screen.Bold + ";" + screen.Red}, {" (" + screen.Text(t.why) + ")", screen.Dim}})
	}
	if t.all.CatchingUp {
		lines = append(lines, []span{{"catching up: the observer is still reading what existed when it started", screen.Yellow}})
	}
	return lines
}

func (t *model) summary() []span {
	var agents, busy, near, compactions, queued int
	for i := range t.all.Sessions {
		s := &t.all.Sessions[i]
		if s.State == "left" {
			continue
		}
		agents++
		compactions += compactionCount(s)
		queued += s.Queued
		if !s.IsIdle {
			busy++
		}
		if isNear(s) {
			near++
		}
	}
	line := []span{{"sm top", screen.Bold}}
	if t.all.Demo {
		line = append(line, span{" ", ""}, span{" DEMO ", screen.Reverse})
	}
	add := func(n int, what, colour string) {
		if n == 0 {
			colour = screen.Dim
		}
		line = append(line, span{"  ", ""}, span{countText(n), colour}, span{" " + what, screen.Dim})
	}
	add(agents, plural(agents, "agent"), screen.Bold)
	add(busy, "busy", screen.Green)
	add(agents-busy, "idle", screen.Bold)
	if add(near, "near", screen.Orange); t.width >= 100 {
		line = append(line, span{" compaction", screen.Dim})
	}
	add(compactions, plural(compactions, "compaction"), screen.Bold)
	add(queued, "queued", screen.Yellow)
	return line
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// isNear says that a compaction is near: within a tenth of the size at which it comes, or the context is critical where
// that is not known.
func isNear(s *api.Session) bool {
	if s.ThresholdTokens == nil || s.TokensUsed == nil {
		return s.Level == "critical"
	}
	return *s.TokensUsed*10 >= *s.ThresholdTokens*9
}

// footer is the filter while it is typed, else where the list stands and what keys there are.
func (t *model) footer() []span {
	if t.typing {
		return []span{{"/" + t.filter, ""}, {"▏", screen.Bold}, {"  enter keeps, esc clears", screen.Dim}}
	}
	arrow := "↓"
	if t.backwards {
		arrow = "↑"
	}
	line := []span{{t.order.String() + " " + arrow, screen.Bold}}
	if t.filter != "" {
		line = append(line, span{"  filter: " + t.filter, screen.Yellow})
	}
	if t.hideQuiet {
		line = append(line, span{fmt.Sprintf("  %d quiet hidden", t.quiet), screen.Yellow})
	}
	if t.all.Others > 0 {
		line = append(line, span{fmt.Sprintf("  %d not listed", t.all.Others), screen.Dim})
	}
	if room := t.room(); len(t.rows) > room {
		line = append(line, span{fmt.Sprintf("  %d–%d of %d", t.first+1, min(len(t.rows), t.first+room), len(t.rows)), ""})
	}
	return append(line, span{"  ? help  / filter  enter detail  q quit", screen.Dim})
}

func helpLines() [][]span {
	lines := [][]span{{{"sm top", screen.Bold}, {"  any key goes back", screen.Dim}}, nil}
	for _, h := range [][2]string{
		{"up down j k", "choose an agent; pgup pgdown g G go further"},
		{"enter", "all about one agent; esc goes back"},
		{"/", "filter by name, project, model, state or level; esc clears"},
		{"p n a c", "sort by pressure, name, activity, compactions"},
		{"r", "reverse the order"},
		{"h", "hide quiet sessions, and show them again"},
		{"q ctrl+c", "quit"},
		{"", ""},
		{"CONTEXT", "how full the window is; ┃ is where the client compacts, if known"},
		{"TREND", "the context over the last four minutes, as far as sm top ran"},
		{"TURNS", "in about how many turns a compaction comes"},
		{"CMP", "compactions of the session"},
		{"CYCLE", "stretches between compactions, clears and handoffs, counted"},
		{"FLAGS", "q2: two messages wait; H: a handoff is under way;"},
		{"", "B: another would be refused; -: notices are off"},
		{"SEEN", "how long ago it did anything"},
	} {
		lines = append(lines, []span{{fmt.Sprintf("  %-12s", h[0]), screen.Cyan}, {h[1], ""}})
	}
	return lines
}

// detail is all about one session.
func (t *model) detail() [][]span {
	s, ok := t.session()
	if !ok {
		return [][]span{{{"this session is gone; esc goes back", screen.Yellow}}}
	}
	lines := t.header()
	lines[0] = []span{{screen.FitEnd(nameOf(&s), max(1, t.width-30)), screen.Reverse}, {"  esc goes back, j k scroll", screen.Dim}}
	if t.all.Demo {
		lines[0] = append([]span{{" DEMO ", screen.Reverse}, {" ", ""}}, lines[0]...)
	}
	head := len(lines)
	width := min(60, max(1, t.width-19))
	body := [][]span{nil, append([]span{{"  context          ", screen.Dim}}, barCell(t, &s, width)...),
		append([]span{{"  last 4 minutes   ", screen.Dim}}, t.trendOf(&s).spans(min(trendSlots, width), t.now)...), nil}
	for _, f := range Fields(s, t.now) {
		name, value := f[0], screen.Text(f[1])
		for value != "" {
			part := screen.FirstCells(value, max(2, t.width-19))
			body = append(body, []span{{fmt.Sprintf("  %-16s ", name), screen.Dim}, {part, ""}})
			name, value = "", value[len(part):]
		}
	}
	t.line = max(0, min(t.line, len(body)-max(1, t.height-head)))
	return append(lines, body[t.line:]...)
}
