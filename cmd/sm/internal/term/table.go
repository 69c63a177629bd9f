package term

import (
	"fmt"
	"slices"
	"strings"

	"sm/dashboards/screen"
)

// Cell is one field of a table.
type Cell struct{ text, colour string }

// Text is a cell with a text, and the colour it is shown in on a terminal: SGR
// parameters, "" for none.
func Text(text, colour string) Cell { return Cell{text, colour} }

// Table writes rows in columns. Columns whose header begins with a space are
// set right. Widths count cells of the screen: a wide character takes two.
// Colours come after the padding. With a Width the texts of the last column are
// cut, so that no line is wider, as far as 10 cells are left for them; with a
// Wrap instead they go on below.
type Table struct {
	Headers []string
	rows    [][]Cell
	Colour  bool
	Width   int // in cells, 0 for any
	Wrap    int // the same
}

// Add adds a row of texts and cells. All are shown on one line. It returns "", for templates.
func (t *Table) Add(fields ...any) string {
	row := make([]Cell, len(fields))
	for i, field := range fields {
		c, ok := field.(Cell)
		if !ok {
			c.text = fmt.Sprint(field)
		}
		c.text = screen.OneLine(c.text)
		row[i] = c
	}
	t.rows = append(t.rows, row)
	return ""
}

// String returns the lines of the table.
func (t *Table) String() string {
	last := len(t.Headers) - 1
	header := make([]Cell, len(t.Headers))
	for i, h := range t.Headers {
		header[i] = Cell{strings.TrimPrefix(h, " "), screen.Dim}
	}
	rows := append([][]Cell{header}, t.rows...)
	widths := make([]int, len(t.Headers))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], screen.Cells(c.text))
		}
	}
	room := max(t.Width, t.Wrap)
	for _, w := range widths[:last] {
		room -= w + 2
	}
	narrow := max(t.Width, t.Wrap) > 0 && widths[last] > room
	room = max(10, room)

	var b strings.Builder
	for _, row := range rows {
		parts := []string{row[last].text}
		if narrow && t.Wrap == 0 {
			parts[0] = screen.FitStart(parts[0], room)
		} else if narrow && parts[0] != "" {
			parts = screen.Wrap(screen.Text(parts[0]), room)
		}
		line := slices.Clone(row)
		for _, part := range parts {
			line[last].text = part
			t.line(&b, line, widths)
			clear(line[:last])
		}
	}
	return b.String()
}

func (t *Table) line(b *strings.Builder, row []Cell, widths []int) {
	for i, c := range row {
		right := strings.HasPrefix(t.Headers[i], " ")
		pad := strings.Repeat(" ", max(0, widths[i]-screen.Cells(c.text)))
		if i > 0 {
			b.WriteString("  ")
		}
		if right {
			b.WriteString(pad)
		}
		if t.Colour && c.colour != "" && c.text != "" {
			c.text = fmt.Sprintf("\x1b[%sm%s\x1b[0m", c.colour, c.text)
		}
		b.WriteString(c.text)
		if !right && i < len(row)-1 {
			b.WriteString(pad)
		}
	}
	b.WriteByte('\n')
}
