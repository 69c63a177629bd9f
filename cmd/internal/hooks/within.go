package hooks

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// within does the work of a command that the client waits for, and says 0 when it is done, when it is late, and when
// it fails in whatever way: to the client, an exit code of 2 would mean that the agent must not go on.
func (p *Process) within(ctx context.Context, work func(context.Context)) int {
	asked := ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, p.slower(Work))
	defer cancel()
	// Without this the runtime ends a process whose standard output nobody reads any more, by a signal. Unlike one
	// that is ignored, a signal that is caught has its usual effect in the wrapped status line.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	done := quietly(func() { work(ctx) })
	select {
	case <-done:
		return 0
	case <-asked: // by a signal: the work may still end what it started
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(patience - Work):
	}
	return 0
}

// quietly runs f beside the caller. A panic ends f and nothing else.
func quietly(f func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		f()
	}()
	return ended
}
