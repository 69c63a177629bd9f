package tmux

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Screen is the content of a pane. It can only disprove that an agent is idle:
// the agent can draw anything above its input box.
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

// link matches the beginning or the end of a hyperlink.
var link = pattern(`\x1b\].*?\x1b\\`)

// ParseScreen parses the output of capture-pane -p -e.
func ParseScreen(capture string, cursor Cursor) Screen {
	s := Screen{Cursor: cursor}
	var row Row
	var pen Cell    // the attributes, which continue in the next row
	styled := false // an escape sequence followed the last character
	// DecodeSequence ends a link within characters such as 本, because they
	// contain a byte that is also a control character that ends strings.
	capture = link().ReplaceAllString(capture, "\x1b\\")
	for capture != "" {
		seq, _, n, _ := ansi.DecodeSequence(capture, ansi.NormalState, nil)
		capture = capture[n:]
		switch {
		case seq[0] == '\x1b':
			parameters, begins := strings.CutPrefix(seq, "\x1b[")
			if parameters, ends := strings.CutSuffix(parameters, "m"); begins && ends {
				attributes(parameters, &pen)
			}
			styled = true
		case seq == "\n":
			// tmux cuts blanks at the end of a row, and with them a drawn
			// cursor, but not the escape sequence before it.
			if styled && pen.Reverse {
				row = append(row, Cell{Rune: ' ', Reverse: true})
			}
			s.Rows = append(s.Rows, row)
			row = nil
			styled = false
		case seq < " ": // shift in and out: line-drawing characters
		default:
			for _, r := range seq {
				pen.Rune = r
				row = append(row, pen)
			}
			styled = false
		}
	}
	if len(row) > 0 {
		s.Rows = append(s.Rows, row)
	}
	return s
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
		case "38", "48", "58": // a colour, whose numbers are not attributes
			if i+1 < len(f) {
				i += map[string]int{"5": 2, "2": 4}[f[i+1]]
			}
		}
	}
}
