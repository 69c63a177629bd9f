package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// cell is one field of a table: its text, and the colour it is shown in on a terminal ("" for none).
type cell struct{ text, colour string }

// The colours, as SGR parameters.
const (
	dim    = "2"
	yellow = "33"
	red    = "31"
	orange = "38;5;208"
)

// table writes rows in columns. Columns whose header begins with a space are set right. Widths count cells of the screen,
// of which a wide character takes two, and colours come after the padding.
type table struct {
	headers []string
	rows    [][]cell
	colour  bool
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.headers))
	for i, h := range t.headers {
		widths[i] = cells(strings.TrimPrefix(h, " "))
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], cells(c.text))
		}
	}
	var b strings.Builder
	header := make([]cell, len(t.headers))
	for i, h := range t.headers {
		header[i] = cell{strings.TrimPrefix(h, " "), dim}
	}
	for _, row := range append([][]cell{header}, t.rows...) {
		t.line(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) line(b *strings.Builder, row []cell, widths []int) {
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-cells(c.text))
		right := strings.HasPrefix(t.headers[i], " ")
		if i > 0 {
			b.WriteString("  ")
		}
		if right {
			b.WriteString(pad)
		}
		if t.colour && c.colour != "" && c.text != "" {
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

// bar draws a share of 0..100 in ten characters, to an eighth of one.
func bar(percent int) string {
	const width = 10
	eighths := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	n := percent * width * 8 / 100
	s := strings.Repeat("█", n/8) + eighths[n%8]
	return s + strings.Repeat("·", width-utf8.RuneCountInString(s))
}

// tokensText writes a token count as people say it: 950, 104k, 1M, 1.2M.
func tokensText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// bytesText writes a byte count in decimal units.
func bytesText(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for n >= 1000 && i < len(units)-1 {
		n /= 1000
		i++
	}
	if i == 0 || n >= 100 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

// ago writes how long a time is past, in one unit; "–" for no time.
func ago(t *time.Time, now time.Time) string {
	if t == nil {
		return "–"
	}
	d := now.Sub(*t)
	switch {
	case d < 0:
		return t.Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// shortName fits a name into n cells, keeping its end, which tells more than its beginning.
func shortName(s string, n int) string { return fitEnd(s, n) }
