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
		lines = t.help()
	case viewHandoffs:
		lines = t.handoffs()
	default:
		lines = t.list()
	}
	lines = t.above(lines)
	var b strings.Builder
	for i, line := range lines[:min(len(lines), t.height)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		drawSpans(&b, fitSpans(line, t.width), t.colour)
	}
	return b.String()
}

// above puts what is asked, or what became of it, in the place of the lowest lines.
func (t *model) above(lines [][]span) [][]span {
	bottom := t.bottom()
	if len(bottom) == 0 {
		return lines
	}
	bottom = bottom[max(0, len(bottom)-t.height):]
	room := t.height - len(bottom)
	lines = slices.Clone(lines[:min(len(lines), room)])
	return append(append(lines, make([][]span, room-len(lines))...), bottom...)
}

// list is the header, the sessions and the footer.
func (t *model) list() [][]span {
	lines := t.header()
	look := newList(t.rows, t.now, t.width)
	look.selected = t.selected
	columns := placeColumns(look.columns(), t.width-2, t.gap())
	lines = append(lines, append([]span{{"  ", ""}}, titles(columns, t.gap())...))
	room := t.room()
	t.scroll(room)
	for i := t.first; i < min(len(t.rows), t.first+room); i++ {
		mark := span{"  ", ""}
		if t.rows[i].ID == t.selected {
			mark = span{"› ", screen.Bold}
		}
		lines = append(lines, append([]span{mark}, look.row(&t.rows[i], columns, t.gap())...))
	}
	if len(t.rows) == 0 && room > 0 {
		lines = append(lines, []span{{"  " + t.nothing(), screen.Dim}})
	}
	lines = append(lines, t.panel(room-len(t.rows))...)
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
		return "all sessions are quiet; x shows them"
	case t.all.Others > 0:
		return "all sessions have been quiet for long; sm status --all lists them"
	}
	if t.central != "" {
		return "the server has no series agent_session_…; see 'Many machines' in deploy/README.md"
	}
	return "no sessions yet"
}

// header says how the fleet is, and what is wrong, if anything is.
func (t *model) header() [][]span {
	lines := [][]span{t.summary()}
	if spent := spentLine(&t.all, t.now, t.width); len(spent) > 0 && t.height >= 16 {
		if first := spanCells(lines[0]) + 3; first+spanCells(spent) <= t.width {
			lines[0] = append(append(lines[0], span{"   ", ""}), spent...)
		} else {
			lines = append(lines, spent)
		}
	}
	if !t.gone.IsZero() {
		text := fmt.Sprintf("%s gone since %s; what stands here is from before", cmp.Or(t.central, "observer"), t.gone.Local().Format(time.TimeOnly))
		lines = append(lines, []span{{text, screen.Bold + ";" + screen.Red}, {" (" + screen.Text(t.why) + ")", screen.Dim}})
	}
	if len(t.all.Down) > 0 {
		lines = append(lines, []span{{"no answer from the observers of: " + screen.Text(strings.Join(t.all.Down, ", ")), screen.Bold + ";" + screen.Red}})
	}
	if t.all.NotWarned {
		lines = append(lines, []span{{api.NotWarnedNotice, screen.Yellow}})
	}
	if t.all.CatchingUp {
		lines = append(lines, []span{{"catching up: the observer is still reading what existed when it started", screen.Yellow}})
	}
	return lines
}

func (t *model) summary() []span {
	var agents, imminent, compactions, queued int
	var needs [urgency.Rests + 1]int
	for i := range t.all.Sessions {
		s := &t.all.Sessions[i]
		if s.State == "left" {
			continue
		}
		agents++
		compactions += compactionCount(s)
		queued += s.Queued
		needs[needOf(s)]++
		if s.PressureLevel == "imminent" && needOf(s) < urgency.Idles {
			imminent++
		}
	}
	head := []span{{"sm top", screen.Bold}}
	if t.all.Demo {
		head = append(head, span{" ", ""}, span{" DEMO ", screen.Reverse})
	}
	if t.central != "" && t.width >= 100 {
		head = append(head, span{" " + screen.FitEnd(screen.Text(t.central), t.width/3), screen.Dim})
	}
	parts := []part{{head, 0}}
	add := func(n int, what, colour string, rank int) {
		if n == 0 {
			colour = screen.Dim
		}
		parts = append(parts, part{[]span{{"  ", ""}, {countText(n), colour}, {" " + what, screen.Dim}}, rank})
	}
	add(agents, plural(agents, "agent"), screen.Bold, 3)
	if t.central != "" {
		add(t.all.Hosts, plural(t.all.Hosts, "host"), screen.Bold, 5)
	}
	add(needs[urgency.Waits], "waiting", screen.Yellow, 1)
	add(needs[urgency.Works], "at work", screen.Green, 4)
	add(needs[urgency.Idles]+needs[urgency.Rests], "idle", screen.Bold, 6)
	add(imminent, "imminent", screen.Red, 2)
	if t.width >= 100 {
		add(compactions, plural(compactions, "compaction"), screen.Bold, 8)
	}
	add(queued, "queued", screen.Yellow, 7)
	return fitParts(parts, t.width)
}

// part is a piece of a line that goes as a whole where there is no room; those with the highest rank go first.
type part struct {
	spans []span
	rank  int
}

// fitParts puts as many parts into a line as there is room for.
func fitParts(parts []part, width int) (line []span) {
	for {
		line = nil
		last := 0
		for i, p := range parts {
			if line = append(line, p.spans...); p.rank > parts[last].rank {
				last = i
			}
		}
		if spanCells(line) <= width || parts[last].rank == 0 {
			return line
		}
		parts = slices.Delete(slices.Clone(parts), last, last+1)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
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
	parts := []part{{[]span{{t.order.String() + " " + arrow, screen.Bold}}, 0}}
	add := func(text, colour string, rank int) { parts = append(parts, part{[]span{{text, colour}}, rank}) }
	if t.client != "" {
		add("  "+t.client+" alone", screen.Yellow, 1)
	}
	if t.filter != "" {
		add("  filter: "+t.filter, screen.Yellow, 1)
	}
	if t.hideQuiet {
		add(fmt.Sprintf("  %d quiet hidden", t.quiet), screen.Yellow, 4)
	}
	if t.all.Others > 0 {
		add(fmt.Sprintf("  %d not listed", t.all.Others), screen.Dim, 5)
	}
	if room := t.room(); len(t.rows) > room {
		add(fmt.Sprintf("  %d–%d of %d", t.first+1, min(len(t.rows), t.first+room), len(t.rows)), "", 3)
	}
	add("  ? help", screen.Dim, 2)
	add("  / filter", screen.Dim, 7)
	add("  enter detail", screen.Dim, 8)
	add("  q quit", screen.Dim, 6)
	if t.width >= 120 {
		add("  s send  a pane  o page  h handoffs  y copy id", screen.Dim, 9)
	}
	return fitParts(parts, t.width)
}

// help names all keys, and what the columns say. What has no room is scrolled to.
func (t *model) help() [][]span {
	hint := "  any key goes back"
	body := helpLines()
	if len(body) > t.height-2 {
		hint = "  j k scroll, any other key goes back"
	}
	t.line = max(0, min(t.line, len(body)-max(1, t.height-2)))
	return append([][]span{{{"sm top", screen.Bold}, {hint, screen.Dim}}, nil}, body[t.line:]...)
}

func helpLines() (lines [][]span) {
	for _, h := range [][2]string{
		{"up down j k", "choose an agent; pgup pgdown g G go further"},
		{"enter", "all about one agent; esc goes back"},
		{"s", "send it a message; asks before it goes out"},
		{"h", "its handoffs; h again asks it for one"},
		{"a", "go to its tmux pane"},
		{"o", "open the page at it in the browser"},
		{"y", "copy its id"},
		{"/", "filter by name, project, model or state"},
		{"u p l", "sort by urgency, pressure, replies left"},
		{"n t c", "sort by name, time of activity, compactions"},
		{"r", "reverse the order"},
		{"x", "hide quiet sessions, and show them again"},
		{"q ctrl+c", "quit"},
		{"", ""},
		{"CONTEXT", "how full; ┃ is where the client compacts"},
		{"", "green to red: how near; dim: it does nothing"},
		{"TREND", "its last sizes, the height is the window"},
		{"REPLIES", "until a compaction comes, about"},
		{"CMP", "compactions of the session"},
		{"CYCLE", "from one compaction, clear, handoff to another"},
		{"FLAGS", "q2: two messages wait; H: handoff under way;"},
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
	body := facts(&s, t.now, t.width)
	t.line = max(0, min(t.line, len(body)-max(1, t.height-head)))
	return append(lines, body[t.line:]...)
}

const (
	factsWidth = 64 // of a column of facts, in cells, where there are several
	panelLeast = 12 // lines that are free below the list before they show the selected agent
)

// facts are all that is known of a session, in as many columns as there is room for.
func facts(s *api.Session, now time.Time, width int) [][]span {
	columns := max(1, width/factsWidth)
	width /= columns
	bar := min(60, max(1, width-19))
	lines := [][]span{nil, append([]span{{"  context          ", screen.Dim}}, barCell(nil, s, bar)...),
		append([]span{{"  trend            ", screen.Dim}}, trendCell(nil, s, min(30, bar))...), nil}
	var all [][]span
	for _, f := range Fields(*s, now) {
		name := f[0]
		for _, part := range screen.Wrap(screen.Text(f[1]), width-20) {
			all = append(all, []span{{fmt.Sprintf("  %-16s ", name), screen.Dim}, {part, ""}})
			name = ""
		}
	}
	rows := (len(all) + columns - 1) / columns
	for i := range rows {
		var line []span
		for j := i; j < len(all); j += rows {
			if j > i {
				line = append(line, span{strings.Repeat(" ", max(0, j/rows*width-spanCells(line))), ""})
			}
			line = append(line, all[j]...)
		}
		lines = append(lines, line)
	}
	return lines
}

// panel shows the selected session in lines that the list leaves free, where there are many.
func (t *model) panel(free int) [][]span {
	s, ok := t.session()
	if !ok || free < panelLeast || t.height < 30 {
		return nil
	}
	name := screen.FitEnd(nameOf(&s), max(1, t.width/2))
	rule := strings.Repeat("─", max(0, t.width-screen.Cells(name)-4))
	lines := append([][]span{nil, {{"─ ", screen.Dim}, {name, screen.Bold}, {" " + rule, screen.Dim}}}, facts(&s, t.now, t.width)...)
	return lines[:min(len(lines), free)]
}
