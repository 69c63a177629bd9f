package term

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"

	"sm/dashboards/screen"
)

// The assumed size of a screen whose size is unknown, in cells and lines.
const defaultColumns, defaultLines = 80, 24

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd()))
}

// mostColumns is how wide a line becomes for the variable COLUMNS.
const mostColumns = 10_000

// Columns returns the width of a stream in cells: of a terminal its own width,
// else the value of the variable COLUMNS, as POSIX defines it, else 80.
func Columns(stream any, variable string) int {
	width, _ := size(stream)
	if width == 0 {
		width, _ = strconv.Atoi(variable) // 0 for what is none
	}
	if width <= 0 {
		return defaultColumns
	}
	return min(width, mostColumns)
}

// Lines is how many lines a terminal has: 24 if it does not report its size.
func Lines(stream any) int {
	_, height := size(stream)
	return cmp.Or(height, defaultLines)
}

// size returns the size of a terminal, 0 if it is unknown.
func size(stream any) (width, height int) {
	if file, ok := stream.(*os.File); ok {
		width, height, _ = xterm.GetSize(int(file.Fd())) // 0 with an error
	}
	return width, height
}

// Redraw is what shows lines in place of what a screen of so many lines shows;
// the first time the screen is cleared before. Lines for which there is no room
// are left out. The cursor ends below them.
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

// ShowProgress keeps one line on a terminal up to date until the returned
// function is called, which wipes it. text returns the line for the time that has passed.
// On anything else it does nothing. Work that ends at once shows no line at
// all.
func ShowProgress(w io.Writer, text func(passed time.Duration) string) (end func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		start := time.Now()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprint(w, "\r\x1b[K"+screen.FitStart(text(time.Since(start)), Columns(w, "")-1))
			}
		}
	})
	return func() {
		close(stop)
		running.Wait()
	}
}
