package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"sm/transcript/follow"
)

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colours reports whether to colour what goes to a stream: on terminals, unless NO_COLOR says otherwise.
func (env *environ) colours(stream any) bool {
	no, _ := env.lookupEnv("NO_COLOR")
	return terminal(stream) && no == ""
}

// columns is how many cells a line of the output has: 80 unless a terminal says otherwise.
func (env *environ) columns() int {
	if file, ok := env.stdout.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

const progressEvery = 100 * time.Millisecond

// showProgress keeps one line on a terminal up to date until the returned function is called, which wipes it. On
// anything else it does nothing. Reading that ends at once shows no line at all.
func showProgress(w io.Writer, stats *follow.Stats) (end func()) {
	if !terminal(w) {
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
				fmt.Fprint(w, "\r\x1b[K"+progressText(stats, time.Since(start)))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

func progressText(s *follow.Stats, passed time.Duration) string {
	done := float64(s.BytesDone.Load())
	return fmt.Sprintf("reading %d of %d transcripts, %s of %s, %s/s", s.FilesDone.Load(), s.Files.Load(),
		bytesText(done), bytesText(float64(s.Bytes.Load())), bytesText(done/max(passed.Seconds(), 0.001)))
}
