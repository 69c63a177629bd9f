package top

import (
	"slices"
	"strings"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// maxText limits a message, in characters.
const maxText = 2000

// handoffRequest is the proposed message after h in the view of handoffs.
const handoffRequest = "Please write a handoff document for your next context now, and run sm handoff PATH as the last thing of this turn."

// stage is the progress of a message to an agent.
type stage uint8

const (
	noMessage  stage = iota
	typed            // being typed
	unanswered       // shown again, until the user confirms it
)

// draft is a message that the user is writing to an agent.
type draft struct {
	stage stage
	to    api.Session
	text  string
}

// verb is the kind of an action, and its key.
type verb string

const (
	nothing      verb = ""
	sendText     verb = "s"
	copyID       verb = "y"
	attachPane   verb = "a"
	openPage     verb = "o"
	readHandoffs verb = "h"
)

// action is a request of the model to the program, which returns its outcome as
// a note.
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

// take returns the action of the last key, and removes it.
func (t *model) take() action {
	a := t.todo
	t.todo = action{}
	return a
}

// actKey handles the keys that act on the selected agent.
func (t *model) actKey(key string) (known bool) {
	does := verb(key)
	if !slices.Contains([]verb{sendText, copyID, attachPane, openPage, readHandoffs}, does) {
		return false
	}
	s := t.session()
	refusal := ""
	switch {
	case s == nil:
		refusal = "no agent is selected; choose one with j and k"
	case t.Central != "" && does != copyID:
		refusal = "only the observer on " + s.Host + " can do this; run 'sm top' there"
	case t.All.NotWarned && (does == sendText || does == readHandoffs && t.view == viewHandoffs):
		refusal = api.NoneReachable
	case does == attachPane && s.Pane == "":
		refusal = "no tmux pane of " + s.ShortName() + " is known; see 'sm register --help'"
	case does == sendText:
		t.draft = draft{stage: typed, to: *s}
	case does == readHandoffs && t.view == viewHandoffs:
		t.draft = draft{stage: typed, to: *s, text: handoffRequest}
	default:
		t.todo = action{does: does, about: *s}
		if does == readHandoffs {
			t.show(viewHandoffs)
			t.handed = nil
		}
	}
	t.note = note{refusal, refusal != ""}
	return true
}

// draftKey handles keys while the user writes a message.
func (t *model) draftKey(key, text string) {
	d := &t.draft
	message := strings.TrimSpace(d.text)
	switch {
	case key == "esc":
		*d = draft{}
	case d.stage == unanswered:
		// Only y sends: Enter may have been pressed twice.
		if key == "y" {
			t.todo = action{does: sendText, about: d.to, text: message}
			*d = draft{}
		}
	case key != "enter":
		d.text = edited(d.text, key, text, maxText)
	case message != "":
		d.stage = unanswered
	}
}

// paste handles a text from the clipboard.
func (t *model) paste(text string) {
	if t.draft.stage == typed || t.draft.stage == noMessage && t.typing {
		t.key("", text)
	}
}

// bottom returns the lines of the draft, else those of the note.
func (t *model) bottom() (lines []string) {
	to := screen.FitStart(screen.Text(t.draft.to.ShortName()), 30)
	switch t.draft.stage {
	case typed:
		label := "to " + to + ": "
		text := editing(t.draft.text)
		if room := t.Width - screen.Cells(label); screen.Cells(text) > room {
			text = screen.FitEnd(t.draft.text, room-1) + bold("▏")
		}
		line := "0 " + bold(label) + text + "\n9 " + dim("  enter goes on, esc leaves")
		return []string{fitParts(line, t.Width)}
	case unanswered:
		parts := screen.Wrap(screen.Text(t.draft.text), t.Width-2)
		if most := max(1, t.height/3); len(parts) > most {
			parts = append(parts[:most-1], "…")
		}
		for _, part := range parts {
			lines = append(lines, "  "+part)
		}
		question := styled(screen.Bold+";"+screen.Yellow, "send this to "+to+"?")
		return append(lines, question+dim("  y sends, esc leaves"))
	}

	colour := ""
	if t.note.failed {
		colour = screen.Red
	}
	for _, part := range screen.Wrap(screen.Text(t.note.text), t.Width) {
		lines = append(lines, styled(colour, part))
	}
	return lines
}
