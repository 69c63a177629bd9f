// Package observer runs the observer: it follows transcripts, keeps their
// totals, warns agents, carries out handoffs, and serves HTTP.
//
// Terms:
//
//   - An agent is a named worker; its sessions follow each other. A session is
//     one transcript of a client.
//   - A cycle is the time between two compactions, clears or handoffs of an agent.
//   - A reading is a context size at a time, from a transcript or a status line.
//   - A notice is a text of the alert rules about an agent, at most one of each
//     kind in a cycle. A message is a text for an agent: a notice, a reminder, or
//     a text from another agent or a person.
//   - A handoff continues an agent's work in a fresh context. The code calls it a
//     rotation.
//   - Pressure is the size of a context as a share of the compaction threshold.
//
// One goroutine, the loop, owns all state (core); other goroutines send it
// functions. The changes of a batch of input are stored in one transaction.
// Effects begin after their cause is stored, and their outcome returns to the
// loop. A kill at any point repeats reading and nothing else. Readings are shown
// at once, before they are stored.
//
// Package transcript interprets records, fleet attributes them to sessions, and
// alerts decides on notices. In this package, rules carries out the decisions of
// the engine, rotation those of the handoffs, and carriers sends the messages of
// the queue. Package access admits requests.
package observer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/alertmanager"
	"sm/observer/fleet"
	"sm/observer/metrics"
	"sm/observer/persist"
	"sm/observer/projects"
	"sm/observer/state"
	"sm/observer/wire"
	"sm/transcript"
	"sm/transcript/follow"
)

// New opens the state directory and the listeners, and starts nothing. Stop
// closes them, also without Start.
func New(ctx context.Context, o Options) (*App, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	a := &App{
		o:         o,
		log:       o.Logger,
		stats:     o.Stats,
		calls:     make(chan func(*core)),
		changes:   make(chan transcript.Change, 64),
		clients:   make(chan []transcript.Client),
		named:     make(chan project, 1),
		learnt:    make(chan follow.Root, projects.MaxLearnt),
		ready:     make(chan struct{}),
		closing:   make(chan struct{}),
		loopEnded: make(chan struct{}),
		queueing:  make(chan struct{}, 2),
	}
	a.broken, a.fail = context.WithCancelCause(context.Background())
	a.reloaded.Store(time.Now().UnixMilli())
	a.settings.Store(&o.Settings)
	a.o.Settings = Settings{} // outdated after Apply; read a.settings
	if err := a.setUp(ctx); err != nil {
		return nil, errors.Join(err, a.release())
	}
	return a, nil
}

func (a *App) setUp(ctx context.Context) error {
	now := time.Now()
	store, err := state.Open(a.o.State, a.log, now)
	if err != nil {
		return err
	}
	a.store = store
	stored, err := store.Load()
	if err != nil {
		return err
	}
	if a.core, err = newCore(a, stored, now); err != nil {
		return err
	}
	a.metrics = metrics.New(metrics.Options{
		Version:     a.o.Version,
		Commit:      a.o.Commit,
		Transcripts: a.stats,
		Reasons:     access.Reasons(),
	})
	if a.web, err = a.o.Web(a); err != nil {
		return err
	}
	if a.passes, err = access.NewPasses(a.o.State); err != nil {
		return err
	}
	a.poller = alertmanager.NewPoller(
		a.log.With("component", "alertmanager"),
		a.takeAlerts,
		a.metrics.Polled,
	)
	poll, err := a.poller.Prepare(a.settings.Load().Alertmanager)
	if err != nil {
		return err
	}
	poll()
	return a.listen(ctx)
}

// listen opens the socket and the addresses, with the access checks in front.
func (a *App) listen(ctx context.Context) error {
	settings := a.settings.Load()
	a.shares = [2]*access.Shares{
		access.NewShares(settings.AllowedUIDs),
		access.NewShares(settings.AllowedUIDs),
	}
	onSocket := a.guarded(settings)
	socket, err := access.ListenUnix(ctx, a.o.Socket, &a.o.Passed)
	if err != nil {
		return err
	}
	a.open(socket, access.NewServer(onSocket, a.log))
	tcp, err := access.ListenTCP(ctx, a.o.Listen, &a.o.Passed, a.shares[0], a.log)
	if err != nil {
		return err
	}
	onTCP := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*a.onTCP.Load()).ServeHTTP(w, r)
	})
	for _, l := range tcp {
		a.open(l, access.NewServer(onTCP, a.log))
	}
	return errors.Join(a.listenMetrics(ctx), a.o.Passed.CloseRest(a.log))
}

func (a *App) open(l net.Listener, s *http.Server) {
	a.addrs = append(a.addrs, l.Addr())
	a.listeners = append(a.listeners, listener{
		Listener: l,
		server:   s,
		serve:    s.Serve,
	})
}

// listenMetrics opens the address for other machines, with the passwords and
// TLS settings of WebConfigFile.
func (a *App) listenMetrics(ctx context.Context) error {
	if a.o.MetricsListen == "" {
		return nil
	}
	l, err := a.o.Passed.Listen(ctx, "tcp", a.o.MetricsListen)
	if err != nil {
		return fmt.Errorf("listen %s: %w; set metrics.listen", a.o.MetricsListen, err)
	}
	server := access.NewServer(a.metricsRoutes(), a.log)
	a.listeners = append(a.listeners, listener{
		Listener: a.shares[1].Listener(l),
		server:   server,
		serve: func(l net.Listener) error {
			flags := &web.FlagConfig{WebConfigFile: &a.o.WebConfigFile}
			return web.Serve(l, server, flags, a.log.With("component", "metrics"))
		},
	})
	return nil
}

// Addrs returns the addresses of the listeners: the socket first, then TCP.
func (a *App) Addrs() []net.Addr { return a.addrs }

// Ready returns a channel that is closed at the end of catch-up.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Answers waits until the loop has run a function. An error means that ctx or
// the loop ended first.
func (a *App) Answers(ctx context.Context) error { return a.do(ctx, func(*core) {}) }

// Start starts the loop, the servers and the poller. They run until Stop.
func (a *App) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.work.Go(func() {
		defer close(a.loopEnded)
		a.loop(ctx)
	})
	for _, l := range a.listeners {
		a.work.Go(func() {
			if err := l.serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
				a.fail(fmt.Errorf("serve %s: %w", l.Addr(), err))
			}
		})
	}
	a.work.Go(func() {
		select {
		case <-a.ready: // from here on the agents are known
		case <-ctx.Done():
		}
		a.poller.Run(ctx)
	})
}

// Stop ends all parts and stores the remaining changes: first requests end,
// then input, then the last transaction. It may be called more than once.
func (a *App) Stop(ctx context.Context) error {
	a.stopOnce.Do(func() {
		close(a.closing)
		a.hangUp(ctx)
		if a.cancel != nil {
			a.cancel()
			ended := make(chan struct{})
			go func() { // ends with the last part
				a.work.Wait()
				close(ended)
			}()
			select {
			case <-ended:
			case <-ctx.Done():
				a.stopErr = errors.New("still storing the last changes; they are read again at the next start")
				return // the parts still use the store
			}
		}
		a.stopErr = errors.Join(a.lastErr, a.release())
	})
	return a.stopErr
}

// answerWithin is how long a request in progress may take to end at Stop.
const answerWithin = time.Second

// hangUp shuts down the servers. Answers take milliseconds: connections that
// are still open after answerWithin are closed, which is not an error.
func (a *App) hangUp(ctx context.Context) {
	a.web.Close()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range a.listeners {
		all.Go(func() {
			if l.server.Shutdown(ctx) != nil {
				_ = l.server.Close() // closes the remaining connections
			}
		})
	}
	all.Wait()
}

// release closes what New opened.
func (a *App) release() error {
	for _, l := range a.listeners {
		_ = l.Close() // most are closed by their servers
	}
	if a.store == nil {
		return nil
	}
	return a.store.Close()
}

// stopWithin limits the time of an orderly stop.
const stopWithin = 10 * time.Second

// Run runs an observer until ctx ends or a part fails.
func Run(ctx context.Context, o Options, started func(*App)) error {
	a, err := New(ctx, o)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		o.Logger.Info("stopped before the start", "cause", context.Cause(ctx))
		return nil
	}
	if err != nil {
		return err
	}
	a.Start()
	var listen []string
	for _, addr := range a.addrs[1:] {
		listen = append(listen, addr.String())
	}
	a.log.Info("observer started", "listen", strings.Join(listen, ","), "version", o.Version)
	if started != nil {
		started(a)
	}
	select {
	case <-ctx.Done():
		a.log.Info("stopping", "cause", context.Cause(ctx))
	case <-a.broken.Done():
		err = context.Cause(a.broken) // the caller prints it
		a.log.Info("stopping", "cause", "a part failed")
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(err, a.Stop(stopping))
}

// newCore creates a core from the stored state.
func newCore(a *App, stored fleet.Stored, now time.Time) (*core, error) {
	o := a.settings.Load()
	c := &core{
		app:       a,
		log:       a.log,
		dryRun:    a.o.DryRun,
		clients:   a.o.Clients,
		settings:  o,
		rotations: rotation.New(o.Handoff.Rotations),
		agents:    agents{},
		edits:     &a.edits,
		levels:    map[string]string{},
		refused:   map[string]string{},
		writer:    writer{done: make(chan *batch, 1)},
		passed:    map[string]time.Time{},
		unknown:   map[metrics.Unknown]uint64{},
		began:     now,
	}
	c.queue = outbox.New(o.Queue, c.rotations.Holds)
	persisted, err := persist.Load(a.store)
	if err != nil {
		return nil, err
	}
	stored.Agents = persisted.Agents
	ledger := fleet.Ledger(a.store) // finds the owners of messages on disk
	if a.o.DryRun {
		ledger = nil
	}
	c.fleet = fleet.New(fleet.Options{
		Windows:    o.Windows,
		Prices:     o.Prices,
		Clients:    a.o.Clients,
		Thresholds: o.Alerts.Thresholds,
		Ledger:     ledger,
		Alive:      a.o.Alive,
		Origin:     a.o.Origin,
		Estimate:   true,
		Project:    c.project,
		Location:   time.Local,
	}, stored)
	if c.engine, err = alerts.New(o.Alerts); err != nil {
		return nil, err
	}
	c.engine.Reaches = func(agent string) bool { return c.dryRun || c.reachable(agent) }
	c.engine.Title = func(agent string) string {
		v, err := c.fleet.View(agent, time.Now())
		if err != nil {
			return agent
		}
		s := wire.Session(v)
		return title(&s)
	}
	c.engine.Restore(persisted.Engine)
	c.queue.Restore(persisted.Messages, persisted.Ended)
	c.hooks = persisted.Hooks
	a.roots, a.remembered = projects.New(a.o.Clients, persisted.Roots, a.log)
	c.rotations.Restore(persisted.Rotations, persisted.Records, persisted.Rotated, now)
	c.resumeHandoffs()
	c.fleet.WereAtWork(c.engine.AtWork())
	c.engine.SetClock(now) // due actions wait for the end of catch-up
	return c, nil
}

// guarded puts the access checks in front of all routes. It replaces the
// handler for TCP, which the settings limit, and returns the handler for the
// socket, which always admits our own uid.
func (a *App) guarded(s *Settings) (onSocket http.Handler) {
	onSocket, onTCP := access.NewHandlers(a.routes(), access.Options{
		AllowedHosts: s.AllowedHosts,
		AllowedUIDs:  s.AllowedUIDs,
		Token:        s.WebhookToken,
		Passes:       a.passes,
		Logger:       a.log,
		Rejected:     a.metrics.Refused,
	})
	a.onTCP.Store(&onTCP)
	return onSocket
}
