package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"sm/dashboards/screen"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd()))
}

// Columns is how many cells a line of a stream has: 80 unless a terminal says otherwise.
func Columns(stream any) int {
	width, _ := size(stream)
	return width
}

// WrapAt is Columns of a terminal, and 0 for anything else.
func WrapAt(stream any) int {
	if !IsTerminal(stream) {
		return 0
	}
	return Columns(stream)
}

// Lines is how many lines a terminal has: 24 unless it says otherwise.
func Lines(stream any) int {
	_, height := size(stream)
	return height
}

func size(stream any) (width, height int) {
	if file, ok := stream.(*os.File); ok {
		if width, height, err := xterm.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// Redraw is what shows lines in place of what a screen of so many lines shows; the first time the screen is cleared before.
// Lines for which there is no room are left out. The cursor ends below them.
func Redraw(text string, height int, first bool) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:min(len(lines)-1, max(1, height-1))]
	start := "\x1b[H"
	if first {
		start += "\x1b[2J"
	}
	return start + strings.ReplaceAll(strings.Join(lines, ""), "\n", "\x1b[K\n") + "\x1b[J"
}

const progressEvery = 100 * time.Millisecond

// ShowProgress keeps one line on a terminal up to date until the returned function is called, which wipes it. The line
// is what text says after a time. On anything else it does nothing. Work that ends at once shows no line at all.
func ShowProgress(w io.Writer, text func(passed time.Duration) string) (end func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		start := time.Now()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprint(w, "\r\x1b[K"+screen.FitStart(text(time.Since(start)), Columns(w)-1))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
