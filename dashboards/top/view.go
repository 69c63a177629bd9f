package top

import (
	"fmt"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
)

// screen returns at most height lines of at most width cells.
func (t *model) screen() string {
	if t.Width <= 0 || t.height <= 0 {
		return ""
	}
	s := t.session()
	var head, body []string // the body scrolls
	switch {
	case t.view == viewList:
		head = t.list()
	case t.view == viewHelp:
		head = []string{bold("sm top") + dim("  j k scroll, any other key goes back"), ""}
		for line := range strings.SplitSeq(helpText, "\n") {
			key, does, _ := strings.Cut(line, ": ")
			body = append(body, styled(screen.Cyan, fmt.Sprintf("  %-12s", key))+does)
		}
	case s == nil:
		head = []string{styled(screen.Yellow, "this agent is gone; esc goes back")}
	case t.view == viewDetail:
		head = t.header()
		name := nameOf(s, max(1, t.Width-30))
		head[0] = styled(screen.Reverse, name) + dim("  esc goes back, j k scroll")
		if t.All.Demo {
			head[0] = styled(screen.Reverse, " DEMO ") + " " + head[0]
		}
		body = facts(s, t.now, t.Width, t.height-len(head))
	default:
		name := "handoffs of " + nameOf(s, max(1, t.Width-52))
		title := t.text("handoffs", name)
		head = []string{title, ""}
		body = []string{dim("  asking the observer …")}
		if t.handed != nil {
			body = t.handed.lines(t.now, t.Width)
		}
	}
	room := max(1, t.height-len(head))
	t.line = max(0, min(t.line, len(body)-room))
	lines := append(head, cut(body[t.line:], room, "j shows more")...)

	if bottom := t.bottom(); len(bottom) > 0 {
		bottom = bottom[max(0, len(bottom)-t.height):]
		lines = append(padded(lines, t.height-len(bottom)), bottom...)
	}
	lines = lines[:min(len(lines), t.height)]
	for i, line := range lines {
		lines[i] = fit(line, t.Width, t.colour)
	}
	return strings.Join(lines, "\n")
}

// cut returns at most n lines. If it omits lines, the last one shows how to see
// them.
func cut(lines []string, n int, how string) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], dim("  … "+how))
}

// padded returns n lines: those of lines, then empty ones.
func padded(lines []string, n int) []string {
	return append(lines, make([]string, n)...)[:n]
}

// list returns the header, the sessions and the footer.
func (t *model) list() []string {
	rows := newList(t.rows, !t.All.NotWarned, t.now, "USED")
	rows.selected = t.selected
	if t.Width >= 120 {
		rows.gap = 2
	}
	rows.fit(t.Width-2, "")
	lines := append(t.header(), "  "+rows.line(nil))

	// The selected row stays on the screen.
	room := max(0, t.height-len(lines)-1)
	at := max(0, t.index())
	t.first = max(0, at-room+1, min(t.first, at, len(t.rows)-room))
	for i := t.first; i < min(len(t.rows), t.first+room); i++ {
		mark := "  "
		if t.rows[i].ID == t.selected {
			mark = bold("› ")
		}
		lines = append(lines, mark+rows.line(&t.rows[i]))
	}
	if len(t.rows) == 0 && room > 0 {
		lines = append(lines, dim("  "+t.text("nothing", "")))
	}
	lines = append(lines, t.panel(room-len(t.rows))...)
	shown := ""
	if n := len(t.rows); n > room {
		shown = fmt.Sprintf("%d–%d of %d", t.first+1, min(n, t.first+room), n)
	}
	footer := fitParts(t.text("footer", shown), t.Width)
	if t.typing {
		footer = "/" + editing(t.Filter) + dim("  enter keeps, esc clears")
	}
	return append(padded(lines, t.height-1), footer)
}

// room returns how many sessions fit on the screen.
func (t *model) room() int { return max(0, t.height-len(t.header())-2) }

// header returns the summary, and the alarms.
func (t *model) header() []string {
	summary := fitParts(t.text("summary", ""), t.Width)
	lines := []string{summary}
	if spent := spentLine(&t.All, t.now, t.Width); spent != "" && t.height >= 16 {
		if screen.Cells(summary)+3+screen.Cells(spent) <= t.Width {
			lines[0] = summary + "   " + spent
		} else {
			lines = append(lines, spent)
		}
	}
	for line := range strings.Lines(t.text("alarms", "")) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// listText has the templates around the list. Those of the summary and the
// footer are for fitParts.
const listText = `{{define "summary"}}0 {{bold "sm top"}}{{if .All.Demo}} {{reverse " DEMO "}}{{end}}{{dim .Server}}
3 {{if .Filter}}  {{bold .Listed}}{{dim " of " .Agents " agents"}}{{else}}{{figure "bold" .Agents "agents"}}{{end}}
5 {{if .Central}}{{figure "bold" .All.Hosts "hosts"}}{{end}}
1 {{figure "yellow" (index .Needs 0) "waiting"}}
4 {{figure "bold" (index .Needs 1) "at work"}}
6 {{figure "bold" (index .Needs 2) "idle"}}
8 {{figure "bold" (index .Needs 3) "quiet"}}
2 {{figure "red" (index .Levels "imminent") "imminent"}}
6 {{figure "orange" (index .Levels "high") "high"}}
8 {{if ge .Width 100}}{{figure "bold" .Compactions "compactions"}}{{end}}
7 {{figure "bold" .Queued "queued"}}
{{end}}

{{define "alarms"}}{{if not .Gone.IsZero}}{{alarm (or .Central "observer") " gone since " (.Gone.Local.Format "15:04:05") "; these figures are from before"}}{{dim " (" (text .Why) ")"}}
{{end}}{{with .All.Down}}{{alarm "no answer from the observers of: " (text (join . ", "))}}
{{end}}{{with .Notices}}{{.}}
{{end}}{{if .All.CatchingUp}}{{yellow "catching up: the observer is still reading what existed when it started"}}
{{end}}{{end}}

{{define "nothing"}}{{if .Filter}}no agent matches; esc clears the filter
{{- else if .Quiet}}all agents are quiet; x shows them
{{- else if .All.Others}}all agents have been quiet for long; sm status --all lists them
{{- else if .Central}}the server has no series agent_session_…; see 'Many machines' in deploy/README.md
{{- else}}no agents yet{{end}}{{end}}

{{define "handoffs"}}{{reverse .Shown}}{{if .All.NotWarned}}{{dim "  esc goes back"}}{{else}}{{dim "  h asks it for one, esc goes back"}}{{end}}{{end}}

{{define "footer"}}0 {{if .Backwards}}{{bold .Order " ↑"}}{{else}}{{bold .Order " ↓"}}{{end}}
1 {{with .Client}}{{yellow "  " . " alone"}}{{end}}
1 {{with text .Filter}}{{yellow "  filter: " .}}{{end}}
4 {{if .HideQuiet}}{{yellow "  " .Quiet " quiet hidden"}}{{end}}
5 {{with .All.Others}}{{dim "  " . " not listed"}}{{end}}
3 {{with .Shown}}  {{.}}{{end}}
2 {{dim "  ? help"}}
7 {{dim "  / filter"}}
8 {{dim "  enter detail"}}
6 {{dim "  q quit"}}
9 {{if ge .Width 120}}{{if not .All.NotWarned}}{{dim "  s send"}}{{end}}{{dim "  a pane  o page  h handoffs  y copy id"}}{{end}}
{{end}}`

// summary is the data of these templates. Shown are the numbers of the rows on
// the screen, if not all are, or the title of another view.
type summary struct {
	*model
	Agents      int
	Needs       [urgency.Rests + 1]int
	Listed      int
	Levels      map[string]int // of active agents by pressure
	Compactions int
	Queued      int
	Server      string
	Shown       string
	Notices     string
}

// text executes one of these templates.
func (t *model) text(name, shown string) string {
	sum := summary{
		model:   t,
		Levels:  map[string]int{},
		Listed:  len(t.rows),
		Shown:   shown,
		Notices: urgency.Notices(&t.All),
	}
	for i := range t.All.Sessions {
		s := &t.All.Sessions[i]
		if s.State == "left" {
			continue
		}
		sum.Agents++
		sum.Compactions += s.Compactions.Total()
		sum.Queued += s.Queued
		sum.Needs[urgency.Of(s)]++
		if urgency.Of(s) == urgency.Works {
			sum.Levels[s.PressureLevel]++
		}
	}
	if t.Central != "" && t.Width >= 100 {
		sum.Server = " " + screen.FitEnd(t.Central, t.Width/3)
	}
	return screen.Execute(templates(listText, t.now), name, sum)
}

// fitParts joins the parts of a line. Each part is a line of text that begins
// with its rank. If there is no room, the parts of the highest ranks are
// omitted.
func fitParts(text string, width int) string {
	for rank := byte('9'); ; rank-- {
		line := ""
		for part := range strings.Lines(text) {
			if part[0] <= rank {
				line += strings.TrimSuffix(part[2:], "\n")
			}
		}
		if rank == '0' || screen.Cells(line) <= width {
			return line
		}
	}
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
x: hide quiet agents, or show them again
mouse: wheel scrolls; click chooses, again opens;
: with shift it selects text
q ctrl+c: quit

CONTEXT: how full; ┃ is where the client compacts
PRESSURE: how near that is; dim rows do nothing
TREND: its last sizes, the height is the window
REPLIES: until a compaction comes, about
CMP: compactions of the agent
CYCLE: from one compaction, clear, handoff to another
FLAGS: q2: two messages wait; H: handoff under way;
: B: another would be refused; -: no notices
SEEN: how long ago it did anything
COST: as its client reports it
≈ est.: by the prices of the configuration,
: where its client reports none`

const (
	factsWidth   = 48 // the minimum width of a column if facts has several, in cells
	minPanel     = 12 // free lines that a panel needs
	minPanelView = 30 // lines of a screen with a panel
	maxTrend     = 12 // lines of the trend
)

// facts returns all fields of a session, in as few columns as the height needs;
// the trend gets the remaining lines.
func facts(s *api.Session, now time.Time, width, height int) []string {
	fields := Fields(*s, now)
	columns := max(1, min(width/factsWidth, 1+(len(fields)+4)/max(1, height)))
	width /= columns
	var all []string
	for _, f := range fields {
		name := f[0]
		for _, part := range screen.Wrap(screen.Text(f[1]), width-20) {
			all = append(all, dim(fmt.Sprintf("  %-16s ", name))+part)
			name = ""
		}
	}

	rows := (len(all) + columns - 1) / columns
	at := place{Session: s, Width: min(60, max(1, width-4))}
	lines := append([]string{"", barCell(at)}, trend(at, max(1, min(maxTrend, 4*len(s.Trend), height-rows-3)))...)
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	lines = append(lines, "")
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
	s := t.session()
	if s == nil || free < minPanel || t.height < minPanelView {
		return nil
	}
	name := nameOf(s, max(1, t.Width/2))
	rule := strings.Repeat("─", max(0, t.Width-screen.Cells(name)-4))
	title := dim("─ ") + bold(name) + dim(" "+rule)
	lines := append([]string{"", title}, facts(s, t.now, t.Width, free-2)...)
	return cut(lines, free, "enter shows all")
}
