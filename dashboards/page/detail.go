package page

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// detail is a Detail in words.
type detail struct {
	Problem, Asked string
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

type fact struct {
	Name, Value, Stamp string
	Copy               bool
}

type event struct{ Stamp, Clock, Class, Text string }

type message struct {
	Stamp, Clock     string
	From, What, Text string
	Fate, Class      string
}

type under struct {
	ID, Name, Kind, Pressure string
	Size, Fill               string // of the context, and of its bar
	Past                     string // what a subagent has been through, or what an agent does
	Stamp, Clock             string
	At                       int64
}

const (
	// eventsMost and messagesMost bound the lists below the curve.
	eventsMost   = 60
	messagesMost = 20
)

func detailOf(d *Detail) detail {
	zone := cmp.Or(d.Location, time.UTC)
	v := detail{Problem: d.Problem, Asked: tame(d.Asked), View: d.Row.View}
	if d.Problem != "" {
		return v
	}
	v.Row, v.Chart = rowOf(&d.Row, &d.History), chartOf(&d.Row, &d.History, zone)
	for _, f := range d.Facts {
		x := fact{Name: f.Name, Value: tame(f.Value), Copy: f.Copy && tame(f.Value) == f.Value}
		if f.At != 0 {
			x.Value, x.Stamp = clock(f.At, zone), stamp(f.At)
		}
		if x.Value != "" {
			v.Facts = append(v.Facts, x)
		}
	}
	for _, c := range d.Commands {
		if tame(c.Text) == c.Text { // what does not show as it is must not be copied either
			v.Commands = append(v.Commands, c)
		}
	}
	for i := range d.Messages[:min(len(d.Messages), messagesMost)] {
		v.Messages = append(v.Messages, messageOf(&d.Messages[i], zone))
	}
	for i := range d.Under {
		v.Under = append(v.Under, underOf(&d.Under[i], zone))
	}
	for _, m := range slices.Backward(d.History.Marks) {
		if len(v.Events) == eventsMost {
			v.More++
			continue
		}
		v.Events = append(v.Events, event{stamp(m.At), clock(m.At, zone), m.class(), m.title()})
	}
	return v
}

// underOf is an agent or a subagent in words.
func underOf(u *Under, zone *time.Location) under {
	x := under{ID: u.ID, Name: tame(u.Name), Kind: tame(u.Kind), Pressure: u.Pressure, Size: "unknown", Fill: "0", At: u.Seen}
	if u.Tokens > 0 {
		x.Size = Short(u.Tokens)
	}
	if u.Window > 0 {
		x.Size += " of " + Short(u.Window)
		x.Fill = percent(min(1, float64(u.Tokens)/float64(u.Window)))
	}
	history := []string{tame(words(u.State))}
	if u.Peak > 0 {
		history = append(history, "peak "+Short(u.Peak))
	}
	if u.Compactions > 0 {
		history = append(history, counted(u.Compactions, "compaction"))
	}
	x.Past = strings.Join(slices.DeleteFunc(history, func(s string) bool { return s == "" }), " · ")
	if u.Seen > 0 {
		x.Stamp, x.Clock = stamp(u.Seen), clock(u.Seen, zone)
	}
	return x
}

// messageOf is a message in words.
func messageOf(m *Message, zone *time.Location) message {
	x := message{Stamp: stamp(m.At), Clock: clock(m.At, zone), From: tame(m.From), What: tame(words(m.What)), Text: tame(m.Text), Class: m.Fate}
	switch m.Fate {
	case "waiting":
		if x.Fate = "waits"; m.WaitsFor != "" {
			x.Fate = "waits for " + tame(words(m.WaitsFor))
		}
	case "offered":
		x.Fate = "given" + by(m.Way) + ", not confirmed yet"
	case "confirmed":
		x.Fate = "heard" + by(m.Way)
	case "unconfirmed":
		x.Fate = "given" + by(m.Way) + ", never confirmed"
	default:
		x.Fate, x.Class = tame(words(m.Fate)), "other"
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
