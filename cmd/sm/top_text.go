package main

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// span is a piece of a line of the screen in one colour: SGR parameters, "" for none. Its text is made for the screen.
type span struct{ text, colour string }

// More colours, as SGR parameters.
const (
	green   = "32"
	magenta = "35"
	cyan    = "36"
	bold    = "1"
	reverse = "7"
)

// screenText makes any text fit for one line of the screen, of which every terminal knows how wide it is: what does not
// print is replaced, what takes no cell of its own is left out, and where terminals may disagree only ASCII stays.
func screenText(s string) string {
	s = oneLine(s)
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

// cells is how many cells of the screen a text takes.
func cells(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// fitEnd fits a text into n cells, keeping its end, which tells more of names than their beginning.
func fitEnd(s string, n int) string {
	if s = screenText(s); cells(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	r := []rune(s)
	from, left := len(r), n-1
	for from > 0 {
		w := cells(string(r[from-1]))
		if w > left {
			break
		}
		from, left = from-1, left-w
	}
	return "…" + string(r[from:])
}

// fitStart fits a text that is made for the screen into n cells, keeping its beginning.
func fitStart(s string, n int) string {
	switch {
	case cells(s) <= n:
		return s
	case n < 1:
		return ""
	}
	return firstCells(s, n-1) + "…"
}

// firstCells is as much of a text that is made for the screen as stands in n cells.
func firstCells(s string, n int) string {
	for i, r := range s {
		if n -= cells(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}

// fitSpans cuts spans to n cells.
func fitSpans(spans []span, n int) []span {
	for i, s := range spans {
		w := cells(s.text)
		if w <= n {
			n -= w
			continue
		}
		return append(spans[:i:i], span{fitStart(s.text, n), s.colour})
	}
	return spans
}

func spanCells(spans []span) (n int) {
	for _, s := range spans {
		n += cells(s.text)
	}
	return n
}

// drawSpans writes spans, in colour or without.
func drawSpans(b *strings.Builder, spans []span, colour bool) {
	for _, s := range spans {
		if !colour || s.colour == "" || s.text == "" {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("\x1b[" + s.colour + "m" + s.text + "\x1b[m")
	}
}
