package top

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// maxText limits a message, in characters.
const maxText = 2000

// handoffRequest is the message that 'h' proposes.
const handoffRequest = "Please write a handoff document for your next context now, and run sm handoff PATH as the last thing of this turn."

// stage is the progress of a message to an agent.
type stage uint8

const (
	noMessage  stage = iota
	typed            // being typed
	unanswered       // shown once more, until the user confirms it
)

// draft is a message that the user is writing to an agent.
type draft struct {
	stage stage
	to    api.Session
	text  string
}

// verb is the kind of an action.
type verb uint8

const (
	nothing verb = iota
	sendText
	copyID
	attachPane
	openPage
	readHandoffs
)

// action is something that the model asks the program to do. Its outcome comes
// back as a note.
type action struct {
	does  verb
	about api.Session
	text  string // of a message
}

// note is the outcome of an action, shown below the list until the next key.
type note struct {
	text   string
	failed bool
}

// take returns the action that the last key asked for, once.
func (t *model) take() action {
	a := t.todo
	t.todo = action{}
	return a
}

// actKey handles the keys that act on the selected agent.
func (t *model) actKey(key string) (known bool) {
	verbs := map[string]verb{
		"s": sendText,
		"y": copyID,
		"a": attachPane,
		"o": openPage,
		"h": readHandoffs,
	}
	does, known := verbs[key]
	if !known {
		return false
	}
	s, ok := t.session()
	switch {
	case !ok:
		t.note = note{"no agent is selected; choose one with j and k", true}
	case t.central != "" && does != copyID:
		t.note = note{
			fmt.Sprintf(
				"only the observer on %s can do this; run 'sm top' there",
				screen.Text(s.Host),
			),
			true,
		}
	case does == attachPane && s.Pane == "":
		t.note = note{
			fmt.Sprintf(
				"no tmux pane of %s is known; see 'sm register --help'",
				screen.Text(s.ShortName()),
			),
			true,
		}
	case does == sendText:
		t.draft = draft{stage: typed, to: s}
	case does == readHandoffs && t.view == viewHandoffs:
		t.draft = draft{stage: typed, to: s, text: handoffRequest}
	default:
		t.todo = action{does: does, about: s}
		if does == readHandoffs {
			t.from = t.view
			t.show(viewHandoffs)
			t.handed = nil
		}
	}
	return true
}

// draftKey handles keys while a message is written.
func (t *model) draftKey(key, text string) {
	d := &t.draft
	switch {
	case key == "esc":
		*d = draft{}
	case d.stage == unanswered:
		// Only y sends: Enter may have been pressed twice.
		if key == "y" {
			t.todo = action{does: sendText, about: d.to, text: strings.TrimSpace(d.text)}
			*d = draft{}
		}
	case key == "enter":
		if strings.TrimSpace(d.text) != "" {
			d.stage = unanswered
		}
	case key == "backspace":
		d.text = withoutLast(d.text)
	case key == "ctrl+u":
		d.text = ""
	default:
		d.add(text)
	}
}

// withoutLast removes the last character of a text.
func withoutLast(text string) string {
	_, size := utf8.DecodeLastRuneInString(text)
	return text[:len(text)-size]
}

// add appends text that is typed or pasted, as part of one line.
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

// paste handles a text from the clipboard.
func (t *model) paste(text string) {
	switch {
	case t.draft.stage == typed:
		t.draft.add(text)
	case t.typing:
		t.typeKey("", text)
	}
}

// bottom returns the message that is written, else the note.
func (t *model) bottom() []string {
	var lines []string
	switch t.draft.stage {
	case typed:
		return []string{t.draft.line(t.width)}
	case unanswered:
		parts := screen.Wrap(screen.Text(t.draft.text), t.width-2)
		if most := max(1, t.height/3); len(parts) > most {
			parts = append(parts[:most-1], "…")
		}
		for _, part := range parts {
			lines = append(lines, "  "+part)
		}
		question := styled(
			screen.Bold+";"+screen.Yellow,
			"send this to "+t.draft.receiver()+"?",
		)
		return append(lines, question+dim("  y sends, esc leaves"))
	}

	colour := screen.Green
	if t.note.failed {
		colour = screen.Red
	}
	for _, part := range screen.Wrap(screen.Text(t.note.text), t.width) {
		lines = append(lines, styled(colour, part))
	}
	return lines
}

func (d *draft) receiver() string {
	return screen.FitStart(
		screen.Text(d.to.ShortName()),
		30,
	)
}

// line returns the end of the text that is typed.
func (d *draft) line(width int) string {
	const hint = "  enter goes on, esc leaves"
	label := "to " + d.receiver() + ": "
	text := screen.Text(d.text)
	if strings.HasSuffix(d.text, " ") {
		text += " "
	}
	if room := width - screen.Cells(label) - 1; screen.Cells(text) > room {
		text = screen.FitEnd(text, room)
	}
	line := bold(label) + text + bold("▏")
	if screen.Cells(line)+len(hint) <= width {
		line += dim(hint)
	}
	return line
}
