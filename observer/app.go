package observer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"sm/observer/access"
	"sm/observer/alertmanager"
	"sm/observer/metrics"
	"sm/observer/projects"
	"sm/observer/state"
	"sm/transcript"
	"sm/transcript/follow"
)

// App is one observer.
type App struct {
	o         Options // without its Settings: see settings
	settings  atomic.Pointer[Settings]
	reloading sync.Mutex
	reloaded  atomic.Int64 // when the configuration was read last, in Unix milliseconds
	rejected  atomic.Bool  // the last reload failed
	onTCP     atomic.Pointer[http.Handler]
	shares    [2]*access.Shares // for Listen and for MetricsListen
	log       *slog.Logger
	store     *state.Store
	stats     *follow.Stats
	metrics   *metrics.Exporter
	calls     chan func(*core)
	changes   chan transcript.Change
	clients   chan []transcript.Client
	roots     *projects.Folders
	learnt    chan follow.Root // new folders of transcripts, for the follower
	ready     chan struct{}    // closed when caught up
	closing   chan struct{}    // closed when Stop begins: long answers end
	loopEnded chan struct{}
	core      *core
	effects   sync.WaitGroup
	queueing  chan struct{} // limits concurrent calls of Enqueuer
	// remembered has the folders of transcripts that were learned in earlier
	// runs.
	remembered []follow.Root
	edits      atomic.Uint64 // see Edits
	web        Web
	filling    sync.Mutex   // held while the end of a transcript is read, to limit memory
	named      chan project // results of core.nameNext
	passes     *access.Passes
	poller     *alertmanager.Poller
	lastErr    error // of the loop's last transaction; read after the loop has ended
	listeners  []listener
	addrs      []net.Addr // of all listeners but that of MetricsListen
	work       sync.WaitGroup
	cancel     context.CancelFunc
	broken     context.Context // ends with the first failure of an essential part
	fail       context.CancelCauseFunc
	stopOnce   sync.Once
	stopErr    error
}

// A listener is a listening socket with its server.
type listener struct {
	net.Listener
	server *http.Server
	serve  func(net.Listener) error
}

// do runs f in the loop and waits for it.
func (a *App) do(ctx context.Context, f func(*core)) error {
	done := make(chan struct{})
	select {
	case a.calls <- func(c *core) { f(c); close(done) }:
	case <-a.loopEnded:
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("the observer is busy; try again: %w", ctx.Err())
	}
	<-done
	return nil
}

// ask runs f in the loop. It returns f's error, or the reason why the loop did
// not run f.
func (a *App) ask(ctx context.Context, f func(*core) error) error {
	var failed error
	if err := a.do(ctx, func(c *core) { failed = f(c) }); err != nil {
		return err
	}
	return failed
}

// update runs f in the loop and returns once all changes of f are stored. If f
// returns an error, update does not wait.
func (a *App) update(ctx context.Context, f func(*core) error) error {
	return a.change(ctx, func(c *core) (bool, error) { return true, f(c) })
}

// change is like update, but waits only if f returns durable.
func (a *App) change(ctx context.Context, f func(*core) (durable bool, err error)) error {
	stored := make(chan error, 1)
	err := a.ask(ctx, func(c *core) error {
		c.undo = nil
		durable, err := f(c)
		if durable && err == nil {
			c.waiting = append(c.waiting, waiter{stored, c.undo})
		} else {
			stored <- nil
		}
		return err
	})
	if err != nil {
		return err
	}
	select {
	case err = <-stored:
		return err
	case <-ctx.Done():
		return fmt.Errorf("storing the state takes too long; check whether this was done before you repeat it: %w", ctx.Err())
	}
}
