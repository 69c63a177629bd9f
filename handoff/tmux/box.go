package tmux

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// box is an input box: rows between two rules. The first row begins with a
// glyph:
//
//	────────────────────
//	❯ what was typed
//	  goes on here
//	────────────────────
type box struct {
	bottom int    // row of the lower rule
	first  Cursor // where its text begins
	glyph  rune   // 0 if the first row is not on the screen
	rows   []Row  // without glyph and indentation
	hidden int    // number of rows scrolled out; -1 if the box begins above the screen

	typed       string // without placeholders and hints
	placeholder bool   // the box has placeholders or hints
}

const (
	// glyphs are the glyphs of Claude Code since 2.1; ! means the shell mode.
	glyphs = "❯!"
	// codexGlyph begins the box of Codex CLI.
	codexGlyph = '›'
)

// findBox returns the lowest box if its first row is on the screen. A similar
// shape above it is output of the agent; below it only a status line can draw
// rules.
func findBox(s Screen) (box, bool) {
	all := candidates(s)
	if n := len(all); n > 0 && all[n-1].glyph != 0 {
		return all[n-1], true
	}
	return box{}, false
}

// codexBox finds the input box of Codex CLI by the cursor. The box has no
// rules: its first row begins with a glyph, and an empty row ends it. The glyph
// is faint before earlier prompts and reversed before the selected line of a
// list:
//
//	› what was typed
//	  goes on here
func codexBox(s Screen) (box, bool) {
	if s.Cursor.Y >= len(s.Rows) {
		return box{}, false
	}
	top := s.Cursor.Y
	for top >= 0 && !isBlank(s.Rows[top]) && s.Rows[top][0].Rune != codexGlyph {
		top--
	}
	if top < 0 || isBlank(s.Rows[top]) {
		return box{}, false
	}
	row := s.Rows[top]
	if row[0].Faint || row[0].Reverse || len(row) > 1 && !blank(row[1]) {
		return box{}, false
	}

	b := box{
		bottom: top + 1,
		first:  Cursor{X: 2, Y: top},
		glyph:  codexGlyph,
		rows:   []Row{row[min(2, len(row)):]},
	}
	for b.bottom < len(s.Rows) && !isBlank(s.Rows[b.bottom]) {
		row, _ := inside(s.Rows[b.bottom])
		b.rows = append(b.rows, row)
		b.bottom++
	}
	b.read()
	return b, b.bottom < len(s.Rows)
}

func isBlank(row Row) bool { return strings.TrimSpace(row.String()) == "" }

// candidates returns the possible input boxes, from the lowest up to the first
// certain one, because earlier prompts above that can look like a box. A box
// that begins above the screen comes last.
func candidates(s Screen) (all []box) {
	if b, ok := codexBox(s); ok {
		return []box{b}
	}
	bottom := -1
	for y, row := range slices.Backward(s.Rows) {
		hidden, ok := rule(row)
		if !ok {
			continue
		}
		if b, ok := boxOf(s, y, bottom, hidden); ok {
			all = append(all, b)
			if b.glyph != 0 {
				return all
			}
		}
		bottom = y
	}
	if b, ok := boxOf(s, -1, bottom, -1); ok {
		all = append(all, b)
	}
	return all
}

// boxOf returns the box between two rules.
func boxOf(s Screen, top, bottom, hidden int) (box, bool) {
	b := box{bottom: bottom, hidden: hidden}
	if bottom < 0 {
		return b, false
	}
	for i, row := range s.Rows[top+1 : bottom] {
		row, indent := inside(row)
		if i == 0 && hidden == 0 {
			// A no-break space follows the glyph.
			if len(row) == 0 || !strings.ContainsRune(glyphs, row[0].Rune) ||
				len(row) > 1 && !blank(row[1]) {
				return box{}, false
			}
			b.glyph = row[0].Rune
			b.first = Cursor{X: indent + 2, Y: top + 1}
			row = row[min(2, len(row)):]
		}
		b.rows = append(b.rows, row)
	}
	b.read()
	return b, len(b.rows) > 0
}

// inside removes the indentation of a row.
func inside(row Row) (inner Row, indent int) {
	for len(row) > indent && indent < 3 && blank(row[indent]) && !row[indent].Reverse {
		indent++
	}
	return row[indent:], indent
}

func blank(c Cell) bool { return unicode.IsSpace(c.Rune) }

// rule reports whether a row is a horizontal line, possibly with words in it.
// hidden is the number in "↑ 5 more", or 0.
func rule(row Row) (hidden int, ok bool) {
	text := strings.TrimSpace(row.String())
	length := utf8.RuneCountInString(text)
	if length < 8 || strings.Count(text, "─")*2 < length || !strings.HasPrefix(text, "─") ||
		!strings.HasSuffix(text, "─") {
		return 0, false
	}
	if _, after, found := strings.Cut(text, "↑ "); found {
		_, _ = fmt.Sscanf(after, "%d more", &hidden) // otherwise the words are a name
	}
	return hidden, true
}

// read sets the text that was typed into the box.
func (b *box) read() {
	var text strings.Builder
	var cursor *Cell // drawn over the first character
	for i, row := range b.rows {
		for j, c := range row {
			switch {
			case c.Faint:
				b.placeholder = b.placeholder || !blank(c)
			case i == 0 && j == 0 && c.Reverse && !blank(c):
				cursor = &row[j]
			default:
				text.WriteRune(c.Rune)
			}
		}
		text.WriteByte('\n')
	}
	b.typed = strings.TrimSpace(text.String())
	if cursor != nil && (b.typed != "" || !b.placeholder) {
		b.typed = string(cursor.Rune) + b.typed // the character belongs to a draft
	}
}

// cursorIn reports whether the terminal's cursor is in the box.
func (b box) cursorIn(s Screen) bool {
	return s.Cursor.Y < b.bottom && s.Cursor.Y >= b.bottom-len(b.rows)
}
