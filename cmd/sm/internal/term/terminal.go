package term

import (
	"fmt"
	"io"
	"os"
	"time"

	xterm "golang.org/x/term"
)

// IsTerminal reports whether a stream is a Is.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd()))
}

// Columns is how many cells a line of a stream has: 80 unless a terminal says otherwise.
func Columns(stream any) int {
	if file, ok := stream.(*os.File); ok {
		if width, _, err := xterm.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
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
				fmt.Fprint(w, "\r\x1b[K"+text(time.Since(start)))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
