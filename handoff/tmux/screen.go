package tmux

import (
	"strings"
	"unicode/utf8"
)

// Screen is what a pane shows. It is for refusing only: nothing on it proves that an
// agent is idle, and an agent can draw anything above its input box.
type Screen struct {
	Rows   []Row
	Cursor Cursor
}

// Row is a row of a screen, without the blanks at its end.
type Row []Cell

// Cell is a character with what tells a placeholder from a draft.
type Cell struct {
	Rune rune
	// Faint is the attribute of placeholders, Reverse that of the cursor which the
	// client draws itself.
	Faint, Reverse bool
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
	var pen Cell    // the attributes carry on from row to row
	styled := false // the attributes were set after the last character
	var row Row
	for i := 0; i < len(capture); {
		r, size := utf8.DecodeRuneInString(capture[i:])
		switch {
		case r == '\x1b':
			size = escape(capture[i:], &pen)
			styled = true
		case r == '\n':
			// tmux cuts blanks at the end of a row, and with them the cursor that is drawn
			// as one, but not the escape sequence before it.
			if styled && pen.Reverse {
				row = append(row, Cell{Rune: ' ', Reverse: true})
			}
			s.Rows, row, styled = append(s.Rows, row), nil, false
		case r < ' ': // shift in and out: line-drawing characters
		default:
			row, styled = append(row, Cell{r, pen.Faint, pen.Reverse}), false
		}
		i += size
	}
	if len(row) > 0 {
		s.Rows = append(s.Rows, row)
	}
	return s
}

// escape takes one escape sequence from the start of s, and gives its length.
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
	case strings.HasPrefix(s, "\x1b]"): // a link, up to its end
		if end := strings.Index(s, "\x1b\\"); end >= 0 {
			return end + 2
		}
		return len(s)
	}
	return min(2, len(s))
}

// attributes follows the parameters of one SGR sequence.
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
		case "38", "48", "58": // a colour follows, whose figures are no attributes
			switch {
			case i+1 < len(f) && f[i+1] == "5":
				i += 2
			case i+1 < len(f) && f[i+1] == "2":
				i += 4
			}
		}
	}
}
