package page

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sm/observer/api"
	"sm/observer/wire"
)

// detail is all that the page shows of one agent.
type detail struct {
	Problem, Asked string // why there is nothing to show, and for which id
	View           string
	Row            row
	Chart          chart
	Facts          []fact
	Commands       []Command
	Messages       []message
	Under          []under
	Events         []event
	More           int
}

type event struct{ Stamp, Clock, Class, Text string }

type message struct {
	Stamp, Clock     string
	From, What, Text string
	Fate, Class      string
}

// under is an agent or a subagent that works for another.
type under struct {
	ID, Name, Kind, Pressure string // ID is "" for a subagent
	Size, Fill               string // of the context, and of its bar
	Past                     string // the history of a subagent, or the state of an agent
	Stamp, Clock             string
	At                       int64
}

const (
	// maxEvents and maxMessages limit the lists below the curve.
	maxEvents   = 60
	maxMessages = 20
)

// detailOf returns the detail of a session, or the problem with the id asked for.
// The facts, commands and agents under it are for the caller to add.
func detailOf(d *wire.Detail, asked, view string, zone *time.Location) detail {
	v := detail{Problem: d.Problem, Asked: tame(asked), View: view}
	if d.Problem != "" {
		return v
	}
	v.Row = rowOf(&d.Session, &d.History, view)
	v.Chart = chartOf(&d.Session, &d.History, zone)
	for _, m := range slices.Backward(d.Messages[max(0, len(d.Messages)-maxMessages):]) {
		v.Messages = append(v.Messages, messageOf(&m, zone))
	}
	for i := range d.Subagents.Latest {
		v.Under = append(v.Under, subagentOf(&d.Subagents.Latest[i], zone))
	}

	marks := d.History.Marks
	v.More = max(0, len(marks)-maxEvents)
	for _, m := range slices.Backward(marks[v.More:]) {
		v.Events = append(v.Events, event{stamp(m.At), clock(m.At, zone), markClass(&m), markTitle(&m)})
	}
	return v
}

// addCommands adds commands, but none that is not shown as it is.
func (v *detail) addCommands(all []Command) {
	for _, c := range all {
		if tame(c.Text) == c.Text {
			v.Commands = append(v.Commands, c)
		}
	}
}

// agentUnder returns an agent that works for another.
func agentUnder(s *api.Session, zone *time.Location) under {
	x := under{
		ID:       s.ID,
		Name:     tame(heading(s)),
		Pressure: s.PressureLevel,
		Past:     tame(words(s.State)),
	}
	x.size(tokens(s), s.WindowTokens)
	x.time(seen(s), zone)
	return x
}

func subagentOf(s *api.Subagent, zone *time.Location) under {
	x := under{Name: tame(s.ID), Kind: tame(s.Type)}
	var past []string
	if s.PeakTokens > 0 {
		past = append(past, "peak "+Short(s.PeakTokens))
	}
	if s.Compactions > 0 {
		past = append(past, counted(s.Compactions, "compaction"))
	}
	x.Past = strings.Join(past, " · ")
	x.size(value(s.ContextTokens), s.WindowTokens)
	x.time(s.LastActive.Unix(), zone)
	return x
}

func (x *under) size(tokens, window int64) {
	x.Size = "unknown"
	x.Fill = "0"
	if tokens > 0 {
		x.Size = Short(tokens)
	}
	if window > 0 {
		x.Size += " of " + Short(window)
		x.Fill = percent(min(1, float64(tokens)/float64(window)))
	}
}

func (x *under) time(at int64, zone *time.Location) {
	if at > 0 {
		x.At, x.Stamp, x.Clock = at, stamp(at), clock(at, zone)
	}
}

// endedRunes is how much the queue keeps of a text once its message has ended.
const endedRunes = 80

func messageOf(m *api.Message, zone *time.Location) message {
	at := m.MadeAt.Unix()
	x := message{
		Stamp: stamp(at),
		Clock: clock(at, zone),
		From:  tame(m.From),
		What:  tame(words(m.Mode)),
		Text:  tame(m.Text),
		Class: m.Status,
	}
	if m.Kind != "" {
		x.What = tame(words("notice: " + m.Kind))
	}
	if m.EndedAt != nil && utf8.RuneCountInString(m.Text) >= endedRunes {
		x.Text = tame(m.Text + "…")
	}

	switch m.Status {
	case "waiting":
		x.Fate = "waits"
		if m.WaitsFor != "" {
			x.Fate = "waits for " + tame(words(m.WaitsFor))
		}
	case "offered":
		x.Fate = "given" + by(m.Via) + ", not confirmed yet"
	case "confirmed":
		x.Fate = "heard" + by(m.Via)
	case "unconfirmed":
		x.Fate = "given" + by(m.Via) + ", never confirmed"
	default:
		x.Fate = tame(words(m.Status))
		x.Class = "other"
	}
	return x
}

func by(way string) string {
	switch way {
	case "", "none":
		return ""
	case "hook":
		return " by a hook"
	case "tmux":
		return " by typing in tmux"
	case "restart":
		return " by a restart"
	}
	return " by " + tame(way)
}

// Quote writes a text as one word of a shell.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:%@+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
