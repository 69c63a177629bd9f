package top

import (
	"fmt"
	"strings"
	"unicode"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// maxText bounds what can be typed as a message, in characters.
const maxText = 2000

// handoffRequest is what an agent is asked with 'h', until the user writes something else.
const handoffRequest = "Please write a handoff document for your next context now, and run sm handoff PATH as the last thing of this turn."

// stage is how far a message to an agent is.
type stage uint8

const (
	noMessage  stage = iota
	typed            // the user types it
	unanswered       // it is shown once more, and goes out when the user says yes
)

// draft is a message that the user writes to an agent.
type draft struct {
	stage stage
	to    api.Session
	text  string
}

// verb is what an action does.
type verb uint8

const (
	nothing verb = iota
	sendText
	copyID
	attachPane
	openPage
	readHandoffs
)

// action is what is to be done outside of the model: the program does it, and its outcome comes back as a note.
type action struct {
	does  verb
	about api.Session
	text  string // of a message
}

// note is what became of an action: one sentence below the list, until the next key.
type note struct {
	text   string
	failed bool
}

// take hands out the action that the last key asked for.
func (t *model) take() (a action) {
	a, t.todo = t.todo, action{}
	return a
}

// actKey does what keys do to the selected agent, in each view.
func (t *model) actKey(key string) (known bool) {
	does, known := map[string]verb{"s": sendText, "y": copyID, "a": attachPane, "o": openPage, "h": readHandoffs}[key]
	if !known {
		return false
	}
	s, ok := t.session()
	switch {
	case !ok:
		t.note = note{"no agent is selected; choose one with j and k", true}
	case t.central != "" && does != copyID:
		t.note = note{fmt.Sprintf("only the observer on %s can do this; run 'sm top' there", screen.Text(s.Host)), true}
	case does == sendText:
		t.draft = draft{stage: typed, to: s}
	case does == attachPane && s.Pane == "":
		t.note = note{fmt.Sprintf("no tmux pane of %s is known; see 'sm register --help'", screen.Text(s.ShortName())), true}
	case does == readHandoffs && t.view == viewHandoffs:
		t.draft = draft{stage: typed, to: s, text: handoffRequest}
	case does == readHandoffs:
		t.from, t.view, t.line, t.handed = t.view, viewHandoffs, 0, nil
		t.todo = action{does: does, about: s}
	default:
		t.todo = action{does: does, about: s}
	}
	return true
}

// draftKey does what a key means while a message is written.
func (t *model) draftKey(key, text string) {
	d := &t.draft
	switch {
	case key == "esc":
		t.draft = draft{}
	case d.stage == unanswered && key == "y":
		t.todo = action{does: sendText, about: d.to, text: strings.TrimSpace(d.text)}
		t.draft = draft{}
	case d.stage == unanswered:
		// Only a clear yes sends: Enter may have been pressed twice.
	case key == "enter":
		if strings.TrimSpace(d.text) != "" {
			d.stage = unanswered
		}
	case key == "backspace":
		r := []rune(d.text)
		d.text = string(r[:max(0, len(r)-1)])
	case key == "ctrl+u":
		d.text = ""
	default:
		d.add(text)
	}
}

// add types a text, from the keyboard or pasted, in one line.
func (d *draft) add(text string) {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	r := []rune(d.text + text)
	d.text = string(r[:min(len(r), maxText)])
}

// paste takes in a text from the clipboard, where one is typed.
func (t *model) paste(text string) {
	switch {
	case t.draft.stage == typed:
		t.draft.add(text)
	case t.typing:
		t.typeKey("", text)
	}
}

// bottom are the lines that take the place of the lowest ones: the message that is written, else the note.
func (t *model) bottom() (lines [][]span) {
	who := t.draft.receiver()
	switch t.draft.stage {
	case typed:
		return [][]span{t.draft.line(t.width)}
	case unanswered:
		parts := screen.Wrap(screen.Text(t.draft.text), t.width-2)
		if most := max(1, t.height/3); len(parts) > most {
			parts = append(parts[:most-1], "…")
		}
		for _, part := range parts {
			lines = append(lines, []span{{"  " + part, ""}})
		}
		return append(lines, []span{{"send this to " + who + "?", screen.Bold + ";" + screen.Yellow}, {"  y sends, esc leaves", screen.Dim}})
	}
	colour := screen.Green
	if t.note.failed {
		colour = screen.Red
	}
	for _, part := range screen.Wrap(screen.Text(t.note.text), t.width) {
		lines = append(lines, []span{{part, colour}})
	}
	return lines
}

func (d *draft) receiver() string { return screen.FitStart(screen.Text(d.to.ShortName()), 30) }

// line shows the end of what is typed, where the typing goes on, in so many cells.
func (d *draft) line(width int) []span {
	const hint = "  enter goes on, esc leaves"
	label := "to " + d.receiver() + ": "
	room := width - screen.Cells(label) - 1
	text := screen.Text(d.text)
	if strings.HasSuffix(d.text, " ") {
		text += " "
	}
	if screen.Cells(text) > room {
		text = screen.FitEnd(text, room)
	}
	line := []span{{label, screen.Bold}, {text, ""}, {"▏", screen.Bold}}
	if spanCells(line)+len(hint) <= width {
		line = append(line, span{hint, screen.Dim})
	}
	return line
}
