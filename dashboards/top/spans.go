package top

import (
	"strings"

	"sm/dashboards/screen"
)

// span is a piece of a line of the screen in one colour: SGR parameters, "" for none. Its text is made for the screen.
type span struct{ text, colour string }

// fitSpans cuts spans to n cells.
func fitSpans(spans []span, n int) []span {
	for i, s := range spans {
		w := screen.Cells(s.text)
		if w <= n {
			n -= w
			continue
		}
		return append(spans[:i:i], span{screen.FitStart(s.text, n), s.colour})
	}
	return spans
}

func spanCells(spans []span) (n int) {
	for _, s := range spans {
		n += screen.Cells(s.text)
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
