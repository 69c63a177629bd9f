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

// mostColumns limits the width that the variable COLUMNS sets, in cells.
const mostColumns = 10_000

// Columns returns the width of a stream in cells: of a terminal its own width,
// else the value of the variable COLUMNS, as POSIX defines it, else 80.
func Columns(stream any, variable string) int {
	width, _ := size(stream)
	if width == 0 {
		width, _ = strconv.Atoi(variable) // 0 if it is not a number
	}
	if width <= 0 {
		return defaultColumns
	}
	return min(width, mostColumns)
}

// Lines returns the height of a terminal in lines, 24 if it is unknown.
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

// Redraw returns the output that replaces the lines on a screen of this height
// by those of text. The first time it clears the screen. Lines beyond the
// height are left out. The cursor ends below the text.
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

// ShowProgress keeps one line on a terminal up to date until end is called,
// which erases it. text returns the line; passed is the time since the call.
// ShowProgress does nothing if w is not a terminal. Work that ends within the
// first interval shows no line.
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
