package tmux

import (
	"slices"
	"strings"
	"unicode"
)

// Refusal returns why nothing may be typed into a screen. ReasonNone means that the
// lowest thing on it is the client's input box, empty and with the cursor in it, without
// signs of a list or dialog around it. It does not mean that the agent is idle.
func Refusal(s Screen) Reason {
	b, ok := findBox(s)
	if !ok {
		return withoutBox(s)
	}
	if r := below(s.Rows[b.bottom+1:]); r != ReasonNone {
		return r
	}
	switch {
	case b.glyph == '!':
		return ReasonShellMode
	case b.glyph == codexGlyph && working(s.Rows[:b.first.Y]):
		return ReasonBusy
	}
	typed, placeholder := b.content()
	switch {
	case typed != "" || len(b.rows) > 1 && !placeholder:
		return ReasonDraft
	case !b.cursorAt(s):
		return ReasonUnclear
	case placeholder && otherBox(b.shown()):
		return ReasonMenu
	}
	return ReasonNone
}

// maxAbove is how far above its box Codex shows that it works.
const maxAbove = 12

// working finds the line that Codex shows during a turn, "• Working (3s • esc to
// interrupt)". It refuses commands then, and queues what is typed. Its screen may be
// seconds behind its records.
func working(rows []Row) bool {
	return slices.ContainsFunc(rows[max(0, len(rows)-maxAbove):], func(row Row) bool {
		text := strings.TrimSpace(row.String())
		return (strings.HasPrefix(text, "•") || strings.HasPrefix(text, "◦")) &&
			strings.Contains(text, "esc to interrupt)")
	})
}

// maxBelow is how many rows of footer, status line and shortcuts there may be. The
// shortcuts take 14 rows in a pane 80 cells wide.
const maxBelow = 20

// below checks what is under the box: a footer, or a list that has the keys.
func below(rows []Row) Reason {
	filled := 0
	for _, row := range rows {
		text := strings.TrimSpace(row.String())
		switch {
		case text == "":
			continue
		case strings.HasPrefix(text, exitHint):
			return ReasonEnding
		case choice(text):
			return ReasonDialog
		case strings.Contains(text, "-- NORMAL --") || strings.Contains(text, "-- VISUAL"):
			return ReasonVim
		case hint(text):
			return ReasonMenu
		}
		filled++
	}
	if filled > maxBelow {
		return ReasonUnclear
	}
	return ReasonNone
}

// exitHint is what an ending client prints below its box, which stays on the screen.
const exitHint = "Resume this session"

// withoutBox returns the reason for a screen without a box, for the log.
func withoutBox(s Screen) Reason {
	menu := false
	dialog := false
	last := ""
	for y, row := range s.Rows {
		text := strings.Trim(row.String(), " \u00a0│")
		if text == "" {
			continue
		}
		if last == "" || y <= s.Cursor.Y {
			last = text
		}
		dialog = dialog || choice(text) || strings.HasPrefix(text, "Do you want to ")
		menu = menu || hint(text)
	}
	switch {
	case dialog:
		return ReasonDialog
	case menu:
		return ReasonMenu
	case last != "" && strings.ContainsAny(last[len(last)-1:], "$#%>") ||
		strings.HasSuffix(last, "❯"):
		return ReasonShell
	}
	return ReasonNoBox
}

// choice matches the selected line of a dialog, such as "❯ 1. Yes", or "› 1. Yes" of Codex.
func choice(text string) bool {
	text = strings.TrimLeft(text, "│ ")
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "❯"), string(codexGlyph))
	if rest == text {
		return false
	}
	rest = strings.TrimLeft(rest, " \u00a0")
	digits := strings.TrimLeftFunc(rest, unicode.IsDigit)
	return len(digits) < len(rest) && strings.HasPrefix(digits, ".")
}

// hint matches the line in which lists and dialogs explain their keys, such as
// "Enter to confirm · Esc to cancel". A working agent shows "esc to interrupt".
func hint(text string) bool {
	text = strings.ToLower(text)
	for _, h := range []string{
		"enter to ", "esc to cancel", "esc to close", "esc to exit", "esc to go back", "esc to return", "esc to dismiss",
	} {
		i := strings.Index(text, h)
		if i == 0 || i > 0 && (text[i-1] == ' ' || text[i-1] == '/') {
			return true
		}
	}
	return false
}

// otherBox matches the placeholders of boxes whose text goes elsewhere: to a new
// session, or to another agent of a team. Other placeholders are suggestions.
func otherBox(placeholder string) bool {
	return strings.HasPrefix(placeholder, "describe a task") ||
		strings.HasPrefix(placeholder, "Message @")
}
