package screen

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"sm/dashboards/screen/plain"
)

// Colours, as SGR parameters.
const (
	Bold    = "1"
	Dim     = "2"
	Reverse = "7"
	Red     = "31"
	Yellow  = "33"
	Magenta = "35"
	Cyan    = "36"
	Orange  = "38;5;208"
)

// Execute executes a template and returns the text. It panics if the template
// is wrong.
func Execute(
	t interface {
		ExecuteTemplate(w io.Writer, name string, data any) error
	},
	name string,
	data any,
) string {
	var text strings.Builder
	if err := t.ExecuteTemplate(&text, name, data); err != nil {
		panic(err)
	}
	return text.String()
}

// Text makes any text fit for one line of a terminal. All terminals agree on
// the width of the result: it has no control characters and no characters of
// zero width, and it is reduced to ASCII if terminals may disagree.
func Text(s string) string {
	s = plain.Line(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e }) {
		return s // it is ASCII
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

// Cells returns the width of a text on a terminal. Escape sequences have none.
func Cells(s string) int { return ansi.StringWidth(s) }

// FitEnd makes any text fit for n cells. It cuts the beginning, as most names
// differ at their end.
func FitEnd(s string, n int) string {
	s = Text(s)
	left := Cells(s)
	switch {
	case left <= n:
		return s
	case n < 1:
		return ""
	}
	for i, r := range s {
		if left < n {
			return "…" + s[i:]
		}
		left -= Cells(string(r))
	}
	return "…"
}

// FitStart cuts the end of a text to fit it into n cells. The text may have
// escape sequences.
func FitStart(s string, n int) string {
	if n < 1 {
		return ""
	}
	return ansi.Truncate(s, n, "…")
}

// Wrap breaks a text into lines of width cells, at least 2, if possible between
// words.
func Wrap(text string, width int) (lines []string) {
	for text != "" {
		part := ansi.Truncate(text, max(2, width), "")
		at := strings.LastIndexByte(part, ' ')
		if rest := text[len(part):]; at > 0 && rest != "" && rest[0] != ' ' {
			part = part[:at]
		}
		lines = append(lines, part)
		text = strings.TrimLeft(text[len(part):], " ")
	}
	return lines
}
