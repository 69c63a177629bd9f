package top

import (
	"github.com/charmbracelet/x/ansi"

	"sm/dashboards/screen"
)

// styled returns text in a colour: SGR parameters, "" for none.
func styled(colour, text string) string {
	if colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[m"
}

func dim(text string) string { return styled(screen.Dim, text) }

func bold(text string) string { return styled(screen.Bold, text) }

// fit cuts a line to width cells, and removes its colours unless colour is
// true.
func fit(line string, width int, colour bool) string {
	if !colour {
		line = ansi.Strip(line)
	}
	return screen.FitStart(line, width)
}
