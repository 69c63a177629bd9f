package tmux

import (
	"strings"
	"unicode/utf8"
)

// Screen is what a pane shows. It can only refute: an agent can draw anything above
// its input box, and nothing there proves that it is idle.
type Screen struct {
	Rows   []Row
	Cursor Cursor
}

// Row is a row of a screen without the blanks at its end.
type Row []Cell

// Cell is a character with the attributes that distinguish a placeholder from a
// draft.
type Cell struct {
	Rune    rune
	Faint   bool // placeholders
	Reverse bool // the cursor that the client draws
}

func (r Row) String() string {
	var b strings.Builder
	for _, c := range r {
		b.WriteRune(c.Rune)
	}
	return b.String()
}

// ParseScreen reads what capture-pane -p -e prints.
func ParseScreen(capture string, cursor Cursor) Screen {
	s := Screen{Cursor: cursor}
	var row Row
	var pen Cell    // the attributes; they go on in the next row
	styled := false // an escape sequence followed the last character
	for i := 0; i < len(capture); {
		r, size := utf8.DecodeRuneInString(capture[i:])
		switch {
		case r == '\x1b':
			size = escape(capture[i:], &pen)
			styled = true
		case r == '\n':
			// tmux cuts blanks at the end of a row, and with them a drawn cursor, but not
			// the escape sequence before it.
			if styled && pen.Reverse {
				row = append(row, Cell{Rune: ' ', Reverse: true})
			}
			s.Rows = append(s.Rows, row)
			row = nil
			styled = false
		case r < ' ': // shift in and out: line-drawing characters
		default:
			pen.Rune = r
			row = append(row, pen)
			styled = false
		}
		i += size
	}
	if len(row) > 0 {
		s.Rows = append(s.Rows, row)
	}
	return s
}

// escape reads the escape sequence at the start of s and returns its length.
func escape(s string, pen *Cell) int {
	switch {
	case strings.HasPrefix(s, "\x1b["):
		end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return len(s)
		}
		if s[2+end] == 'm' {
			attributes(s[2:2+end], pen)
		}
		return 2 + end + 1
	case strings.HasPrefix(s, "\x1b]"): // a link
		if end := strings.Index(s, "\x1b\\"); end >= 0 {
			return end + 2
		}
		return len(s)
	}
	return min(2, len(s))
}

// attributes applies the parameters of one SGR sequence.
func attributes(parameters string, pen *Cell) {
	f := strings.Split(parameters, ";")
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case "", "0":
			*pen = Cell{}
		case "2", "22":
			pen.Faint = f[i] == "2"
		case "7", "27":
			pen.Reverse = f[i] == "7"
		case "38", "48", "58": // a colour: its numbers are not attributes
			if i+1 < len(f) && f[i+1] == "5" {
				i += 2
			} else if i+1 < len(f) && f[i+1] == "2" {
				i += 4
			}
		}
	}
}
