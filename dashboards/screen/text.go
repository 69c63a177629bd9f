package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"sm/dashboards/screen/plain"
)

// The colours, as SGR parameters.
const (
	Bold    = "1"
	Dim     = "2"
	Reverse = "7"
	Red     = "31"
	Green   = "32"
	Yellow  = "33"
	Magenta = "35"
	Cyan    = "36"
	Orange  = "38;5;208"
)

// OneLine makes a text fit for one line of a terminal; see [plain.Line].
func OneLine(s string) string { return plain.Line(s) }

// Text makes any text fit for one line of the screen. All terminals agree about the width of the result: what does not
// print is replaced, what takes no cell of its own is left out, and where terminals may disagree only ASCII stays.
func Text(s string) string {
	s = OneLine(s)
	if isASCII(s) {
		return s
	}
	width := 0
	s = strings.Map(func(r rune) rune {
		n := ansi.StringWidthWc(string(r))
		if n <= 0 {
			return -1
		}
		width += n
		return r
	}, s)
	if ansi.StringWidth(s) == width && ansi.StringWidthWc(s) == width {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r > 0x7e {
			return '?'
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e })
}

// Cells is how many Cells of the screen a text takes.
func Cells(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// FitEnd fits a text into n cells, keeping its end, which tells more of names than their beginning.
func FitEnd(s string, n int) string {
	if s = Text(s); Cells(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	r := []rune(s)
	from, left := len(r), n-1
	for from > 0 {
		w := Cells(string(r[from-1]))
		if w > left {
			break
		}
		from, left = from-1, left-w
	}
	return "…" + string(r[from:])
}

// FitStart fits a text that is made for the screen into n cells, keeping its beginning.
func FitStart(s string, n int) string {
	switch {
	case Cells(s) <= n:
		return s
	case n < 1:
		return ""
	}
	return FirstCells(s, n-1) + "…"
}

// FirstCells is as much of a text that is made for the screen as stands in n cells.
func FirstCells(s string, n int) string {
	for i, r := range s {
		if n -= Cells(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}

// Wrap breaks a text that is made for the screen into lines of so many cells, 2 at least, between words where it can.
func Wrap(text string, width int) (lines []string) {
	for width = max(2, width); text != ""; {
		part := FirstCells(text, width)
		if at := strings.LastIndexByte(part, ' '); len(part) < len(text) && text[len(part)] != ' ' && at > 0 {
			part = part[:at]
		}
		lines = append(lines, part)
		text = strings.TrimLeft(text[len(part):], " ")
	}
	return lines
}
