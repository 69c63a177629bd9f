package tmux

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Refusal returns why nothing may be typed into a screen. ReasonNone means that
// the lowest element of the screen is the client's input box, empty and with
// the cursor in it, and that nothing around it suggests a list or dialog. It
// does not mean that the agent is idle.
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
	case b.glyph == codexGlyph && slices.ContainsFunc(
		s.Rows[max(0, b.first.Y-maxAbove):b.first.Y],
		func(row Row) bool { return working().MatchString(row.String()) },
	):
		return ReasonBusy
	case b.typed != "" || len(b.rows) > 1 && !b.placeholder:
		return ReasonDraft
	case s.Cursor != b.first:
		// In an empty box the terminal's cursor is where the text begins, since
		// 2.1. A cursor drawn in reverse proves nothing, because it stays on
		// the screen when the client ends. During a search of the history the
		// box looks empty, but the cursor is elsewhere.
		return ReasonUnclear
	case b.placeholder && otherBox().MatchString(b.rows[0].String()):
		return ReasonMenu
	}
	return ReasonNone
}

// maxAbove is the largest distance, in rows, between the box of Codex and the
// line that shows that it works.
const maxAbove = 12

// working matches the line that Codex shows during a turn, "• Working (3s • esc
// to interrupt)". During a turn Codex refuses commands, and queues typed texts.
// Its screen may be seconds behind its records.
var working = pattern(`^\s*[•◦].*esc to interrupt\)`)

// maxBelow limits the rows of footer, status line and shortcuts. The shortcuts
// take 14 rows in a pane 80 cells wide.
const maxBelow = 20

// below checks the rows under the box, which may be a footer, or a list that
// takes the keys.
func below(rows []Row) Reason {
	filled := 0
	for _, row := range rows {
		text := strings.TrimSpace(row.String())
		switch {
		case text == "":
			continue
		case strings.HasPrefix(text, "Resume this session"): // of an ending client
			return ReasonEnding
		case choice().MatchString(text):
			return ReasonDialog
		case strings.Contains(text, "-- NORMAL --") || strings.Contains(text, "-- VISUAL"):
			return ReasonVim
		case hint().MatchString(text):
			return ReasonMenu
		}
		filled++
	}
	if filled > maxBelow {
		return ReasonUnclear
	}
	return ReasonNone
}

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
		dialog = dialog || choice().MatchString(text) || strings.HasPrefix(text, "Do you want to ")
		menu = menu || hint().MatchString(text)
	}
	switch {
	case dialog:
		return ReasonDialog
	case menu:
		return ReasonMenu
	case prompt().MatchString(last):
		return ReasonShell
	}
	return ReasonNoBox
}

// prompt matches the last line of a shell that waits for a command.
var prompt = pattern(`[$#%>❯]$`)

// choice matches the selected line of a dialog, such as "❯ 1. Yes", or "› 1. Yes" of Codex.
var choice = pattern(`^[│ ]*(❯|›)+[ \x{a0}]*\p{Nd}+\.`)

// hint matches the line in which lists and dialogs explain their keys, such as
// "Enter to confirm · Esc to cancel". A working agent shows "esc to interrupt".
var hint = pattern(`(?i)(^|[ /])(enter to |esc to (cancel|close|exit|go back|return|dismiss))`)

// pattern returns a pattern that is compiled on first use: each hook starts
// this program, and does not need it.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// otherBox matches the placeholders of boxes whose text is sent elsewhere: to a
// new session, or to another agent of a team. Other placeholders are
// suggestions.
var otherBox = pattern(`^\s*(describe a task|Message @)`)
