package hooks

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// soon is the delay after which a command that only reports to the observer
// starts to watch its deadline and signals. Most commands are done by then, and
// the threads for signals would slow them down. Earlier signals have their
// default effect.
const soon = 50 * time.Millisecond

// within runs the work of a command that the client waits for. It returns when
// the work is done, and when it panics: an exit code of 2 would stop the agent.
// If the work takes longer than Work, its context is canceled, and if it does
// not end after that, the process exits with 0. After the delay from, a signal
// cancels the context as well; the second signal has its default effect.
func (p *Process) within(ctx context.Context, from time.Duration, work func(context.Context)) {
	asked := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	listen := func() { signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM) }
	if from == 0 {
		listen()
	}
	done := make(chan struct{})
	watched := make(chan struct{})
	watch := time.AfterFunc(from, func() {
		defer close(watched)
		if from > 0 {
			listen()
		}
		select {
		case <-done:
		case <-asked: // by a signal: the work may still clean up
		case <-signals:
		case <-time.After(p.slower(Work) - from):
		}
		signal.Stop(signals)
		cancel()
		select {
		case <-done:
		case <-time.After(patience - Work):
			if p.Exit != nil {
				p.Exit(0)
			}
		}
	})
	quietly(func() { work(ctx) })
	close(done)
	if !watch.Stop() {
		<-watched
	}
}

// quietly runs f. A panic ends only f.
func quietly(f func()) {
	defer func() { _ = recover() }()
	f()
}

// write writes a text to standard output. If the reader is gone, a write to
// os.Stdout raises SIGPIPE; a write to a duplicate of the descriptor does not.
// The signal is not ignored, as the wrapped status line would inherit that.
func write(w io.Writer, text []byte) {
	if f, ok := w.(*os.File); ok {
		fd, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			return
		}
		w = os.NewFile(uintptr(fd), f.Name())
	}
	_, _ = w.Write(text)
}
