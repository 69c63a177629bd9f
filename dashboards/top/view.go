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

// screen returns at most height lines of at most width cells.
func (t *model) screen() string {
	if t.width <= 0 || t.height <= 0 {
		return ""
	}
	var lines []string
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
	lines = lines[:min(len(lines), t.height)]
	for i, line := range lines {
		lines[i] = fit(line, t.width, t.colour)
	}
	return strings.Join(lines, "\n")
}

// above puts the message that is written, or the note, into the lowest lines.
func (t *model) above(lines []string) []string {
	bottom := t.bottom()
	if len(bottom) == 0 {
		return lines
	}
	bottom = bottom[max(0, len(bottom)-t.height):]
	room := t.height - len(bottom)
	lines = slices.Clone(lines[:min(len(lines), room)])
	lines = append(lines, make([]string, room-len(lines))...)
	return append(lines, bottom...)
}

// list returns the header, the sessions and the footer.
func (t *model) list() []string {
	rows := newList(t.rows, t.now, t.width)
	rows.selected = t.selected
	if t.width >= 120 {
		rows.gap = 2
	}
	rows.fit(t.width - 2)
	lines := append(t.header(), "  "+rows.line(nil))

	room := t.room()
	t.scroll(room)
	for i := t.first; i < min(len(t.rows), t.first+room); i++ {
		mark := "  "
		if t.rows[i].ID == t.selected {
			mark = bold("› ")
		}
		lines = append(lines, mark+rows.line(&t.rows[i]))
	}
	if len(t.rows) == 0 && room > 0 {
		lines = append(lines, dim("  "+t.nothing()))
	}
	lines = append(lines, t.panel(room-len(t.rows))...)
	lines = append(lines, make([]string, max(0, t.height-1-len(lines)))...)
	return append(lines[:max(0, t.height-1)], t.footer())
}

// room returns how many sessions fit on the screen.
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
		return "no session matches; esc clears the filter"
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

// header returns the summary, and what is wrong, if anything is.
func (t *model) header() []string {
	summary := t.summary()
	lines := []string{summary}
	if spent := spentLine(&t.all, t.now, t.width); spent != "" && t.height >= 16 {
		if screen.Cells(summary)+3+screen.Cells(spent) <= t.width {
			lines[0] = summary + "   " + spent
		} else {
			lines = append(lines, spent)
		}
	}

	const alarm = screen.Bold + ";" + screen.Red
	add := func(show bool, colour, text, more string) {
		if show {
			lines = append(lines, styled(colour, text)+dim(more))
		}
	}
	gone := fmt.Sprintf(
		"%s gone since %s; these figures are from before",
		cmp.Or(t.central, "observer"),
		t.gone.Local().Format(time.TimeOnly),
	)
	down := screen.Text(strings.Join(t.all.Down, ", "))
	add(!t.gone.IsZero(), alarm, gone, " ("+screen.Text(t.why)+")")
	add(down != "", alarm, "no answer from the observers of: "+down, "")
	add(t.all.NotWarned, screen.Yellow, api.NotWarnedNotice, "")
	add(t.all.CatchingUp, screen.Yellow,
		"catching up: the observer is still reading what existed when it started", "")
	return lines
}

func (t *model) summary() string {
	var agents, imminent, compactions, queued int
	var needs [urgency.Rests + 1]int
	for i := range t.all.Sessions {
		s := &t.all.Sessions[i]
		if s.State == "left" {
			continue
		}
		agents++
		compactions += s.Compactions.Total()
		queued += s.Queued
		needs[urgency.Of(s)]++
		if s.PressureLevel == "imminent" && !urgency.Resting(s) {
			imminent++
		}
	}

	head := bold("sm top")
	if t.all.Demo {
		head += " " + styled(screen.Reverse, " DEMO ")
	}
	if t.central != "" && t.width >= 100 {
		head += dim(" " + screen.FitEnd(t.central, t.width/3))
	}
	parts := []part{{head, 0}}
	add := func(n int, what, colour string, rank int) {
		if n == 0 {
			colour = screen.Dim
		}
		text := "  " + styled(colour, countText(n)) + dim(" "+what)
		parts = append(parts, part{text, rank})
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

// part is a piece of a line that is left out as a whole where there is no room;
// parts with the highest rank go first.
type part struct {
	text string
	rank int
}

// fitParts joins as many parts as there is room for.
func fitParts(parts []part, width int) string {
	for {
		line := ""
		last := 0
		for i, p := range parts {
			line += p.text
			if p.rank > parts[last].rank {
				last = i
			}
		}
		if screen.Cells(line) <= width || parts[last].rank == 0 {
			return line
		}
		parts = slices.Delete(parts, last, last+1)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// footer returns the filter while it is typed, else the state of the list and
// the keys.
func (t *model) footer() string {
	if t.typing {
		return "/" + t.filter + bold("▏") + dim("  enter keeps, esc clears")
	}
	arrow := "↓"
	if t.backwards {
		arrow = "↑"
	}
	room := t.room()
	rows := len(t.rows)
	first := t.first + 1
	shown := fmt.Sprintf("%d–%d of %d", first, min(rows, t.first+room), rows)

	parts := []part{{bold(t.order.String() + " " + arrow), 0}}
	add := func(show bool, colour, text string, rank int) {
		if show {
			parts = append(parts, part{styled(colour, "  "+text), rank})
		}
	}
	add(t.client != "", screen.Yellow, t.client+" alone", 1)
	add(t.filter != "", screen.Yellow, "filter: "+t.filter, 1)
	add(t.hideQuiet, screen.Yellow, fmt.Sprintf("%d quiet hidden", t.quiet), 4)
	add(t.all.Others > 0, screen.Dim, fmt.Sprintf("%d not listed", t.all.Others), 5)
	add(rows > room, "", shown, 3)
	add(true, screen.Dim, "? help", 2)
	add(true, screen.Dim, "/ filter", 7)
	add(true, screen.Dim, "enter detail", 8)
	add(true, screen.Dim, "q quit", 6)
	add(t.width >= 120, screen.Dim, "s send  a pane  o page  h handoffs  y copy id", 9)
	return fitParts(parts, t.width)
}

// scrolled returns head and the part of body that is scrolled to.
func (t *model) scrolled(head, body []string) []string {
	t.line = max(0, min(t.line, len(body)-max(1, t.height-len(head))))
	return append(head, body[t.line:]...)
}

// help lists all keys, and what the columns mean.
func (t *model) help() []string {
	hint := "  any key goes back"
	body := helpLines()
	if len(body) > t.height-2 {
		hint = "  j k scroll, any other key goes back"
	}
	return t.scrolled(
		[]string{bold("sm top") + dim(hint), ""},
		body,
	)
}

const helpText = `up down j k: choose an agent; pgup pgdown g G go further
enter: all about one agent; esc goes back
s: send it a message; asks before it goes out
h: its handoffs; h again asks it for one
a: go to its tmux pane
o: open the page at it in the browser
y: copy its id
/: filter by name, project, model or state
u p l: sort by urgency, pressure, replies left
n t c: sort by name, time of activity, compactions
r: reverse the order
x: hide quiet sessions, or show them again
q ctrl+c: quit

CONTEXT: how full; ┃ is where the client compacts
: green to red: how near; dim: it does nothing
TREND: its last sizes, the height is the window
REPLIES: until a compaction comes, about
CMP: compactions of the session
CYCLE: from one compaction, clear, handoff to another
FLAGS: q2: two messages wait; H: handoff under way;
: B: another would be refused; -: notices are off
SEEN: how long ago it did anything
`

func helpLines() (lines []string) {
	for line := range strings.Lines(helpText) {
		key, does, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		lines = append(lines, styled(screen.Cyan, fmt.Sprintf("  %-12s", key))+does)
	}
	return lines
}

// gone returns what the view of an agent shows when its session is gone.
func gone() []string {
	return []string{styled(screen.Yellow, "this session is gone; esc goes back")}
}

// detail returns everything about the selected session.
func (t *model) detail() []string {
	s, ok := t.session()
	if !ok {
		return gone()
	}
	head := t.header()
	name := screen.FitEnd(nameOf(&s), max(1, t.width-30))
	head[0] = styled(screen.Reverse, name) + dim("  esc goes back, j k scroll")
	if t.all.Demo {
		head[0] = styled(screen.Reverse, " DEMO ") + " " + head[0]
	}
	return t.scrolled(head, facts(&s, t.now, t.width))
}

const (
	factsWidth   = 64 // of a column of facts, in cells, where there are several
	minPanel     = 12 // free lines that a panel needs
	minPanelView = 30 // lines of a screen with a panel
)

// facts returns everything about a session, in as many columns as there is room
// for.
func facts(s *api.Session, now time.Time, width int) []string {
	columns := max(1, width/factsWidth)
	width /= columns
	bar := min(60, max(1, width-19))
	label := func(name string) string {
		return dim(fmt.Sprintf("  %-16s ", name))
	}

	var all []string
	for _, f := range Fields(*s, now) {
		name := f[0]
		for _, part := range screen.Wrap(screen.Text(f[1]), width-20) {
			all = append(all, label(name)+part)
			name = ""
		}
	}
	lines := []string{
		"",
		label("context") + barCell(place{Session: s, Width: bar}),
		label("trend") + trendCell(place{Session: s, Width: min(30, bar)}),
		"",
	}
	rows := (len(all) + columns - 1) / columns
	for i := range rows {
		line := ""
		for j := i; j < len(all); j += rows {
			line += strings.Repeat(" ", max(0, j/rows*width-screen.Cells(line))) + all[j]
		}
		lines = append(lines, line)
	}
	return lines
}

// panel shows the selected session in the free lines below a short list.
func (t *model) panel(free int) []string {
	s, ok := t.session()
	if !ok || free < minPanel || t.height < minPanelView {
		return nil
	}
	name := screen.FitEnd(nameOf(&s), max(1, t.width/2))
	rule := strings.Repeat("─", max(0, t.width-screen.Cells(name)-4))
	title := dim("─ ") + bold(name) + dim(" "+rule)
	lines := append([]string{"", title}, facts(&s, t.now, t.width)...)
	return lines[:min(len(lines), free)]
}
