package term

import (
	"fmt"
	"slices"
	"strings"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
)

// Cell is one field of a table.
type Cell struct{ text, colour string }

// Text returns a cell with a text. colour is its colour on a terminal, as SGR
// parameters; "" for none.
func Text(text, colour string) Cell { return Cell{text, colour} }

// Table formats rows in columns. A column whose header begins with a space is
// aligned right. Widths count cells of the screen: a wide character takes two.
// With a Width, texts of the last column are cut so that no line is wider, but
// to no fewer than 10 cells; with a Wrap they continue on the lines below
// instead.
type Table struct {
	Headers []string
	rows    [][]Cell
	Colour  bool
	Width   int // in cells, 0 for no limit
	Wrap    int // in cells, 0 for no limit
}

// Add adds a row of texts and cells, each on one line. It returns "", for
// templates.
func (t *Table) Add(fields ...any) string {
	row := make([]Cell, len(fields))
	for i, field := range fields {
		c, ok := field.(Cell)
		if !ok {
			c.text = fmt.Sprint(field)
		}
		c.text = plain.Line(c.text)
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
