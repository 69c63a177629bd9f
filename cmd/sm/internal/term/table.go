package term

import (
	"fmt"
	"io"
	"strings"

	"sm/dashboards/screen"
)

// Cell is one field of a table.
type Cell struct{ text, colour string }

// Text is a cell with a text, and the colour it is shown in on a terminal: SGR parameters, "" for none.
func Text(text, colour string) Cell { return Cell{text, colour} }

// Table writes rows in columns. Columns whose header begins with a space are set right. Widths count cells of the screen:
// a wide character takes two. Colours come after the padding. With a Width the texts of the last column are cut, so that no
// line is wider, as far as 10 cells are left for them; with a Wrap instead they go on below.
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

func (t *Table) Write(w io.Writer) error {
	_, err := io.WriteString(w, t.String())
	return err
}

// String is what Write writes.
func (t *Table) String() string {
	widths := make([]int, len(t.Headers))
	for i, h := range t.Headers {
		widths[i] = screen.Cells(strings.TrimPrefix(h, " "))
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], screen.Cells(c.text))
		}
	}
	t.cut(widths)
	var b strings.Builder
	header := make([]Cell, len(t.Headers))
	for i, h := range t.Headers {
		header[i] = Cell{strings.TrimPrefix(h, " "), screen.Dim}
	}
	for _, row := range append([][]Cell{header}, t.rows...) {
		t.line(&b, row, widths)
	}
	return b.String()
}

// cut makes the last column fit.
func (t *Table) cut(widths []int) {
	last := len(widths) - 1
	room := max(t.Width, t.Wrap)
	for _, w := range widths[:last] {
		room -= w + 2
	}
	if max(t.Width, t.Wrap) == 0 || widths[last] <= room {
		return
	}
	widths[last] = max(10, room)
	if t.Wrap > 0 {
		t.wrap(last, widths[last])
		return
	}
	for _, row := range t.rows {
		row[last].text = screen.FitStart(row[last].text, widths[last])
	}
}

// wrap puts what has no room in the last column into rows below.
func (t *Table) wrap(last, width int) {
	var rows [][]Cell
	for _, row := range t.rows {
		parts := screen.Wrap(screen.Text(row[last].text), width)
		for i, part := range parts {
			next := make([]Cell, last+1)
			if i == 0 {
				copy(next, row)
			}
			next[last] = Cell{part, row[last].colour}
			rows = append(rows, next)
		}
		if len(parts) == 0 {
			rows = append(rows, row)
		}
	}
	t.rows = rows
}

func (t *Table) line(b *strings.Builder, row []Cell, widths []int) {
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-screen.Cells(c.text))
		right := strings.HasPrefix(t.Headers[i], " ")
		if i > 0 {
			b.WriteString("  ")
		}
		if right {
			b.WriteString(pad)
		}
		if t.Colour && c.colour != "" && c.text != "" {
			fmt.Fprintf(b, "\x1b[%sm%s\x1b[0m", c.colour, c.text)
		} else {
			b.WriteString(c.text)
		}
		if !right && i < len(row)-1 {
			b.WriteString(pad)
		}
	}
	b.WriteByte('\n')
}
