package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A watched is what the service manager wants to know about: whether it has caught up, and whether it still answers.
type watched interface {
	Ready() <-chan struct{}
	Answers(ctx context.Context) error
}

// A Notifier reports to the service manager how the observer fares, as sd_notify(3) says.
type Notifier struct {
	send     func(state string) error
	watchdog time.Duration // 0: nobody waits for a sign of life
	log      *slog.Logger
}

// NewNotifier is nil where no service manager listens.
func NewNotifier(lookupEnv func(string) (string, bool), log *slog.Logger) *Notifier {
	if socket, _ := lookupEnv("NOTIFY_SOCKET"); socket == "" {
		return nil
	}
	n := &Notifier{log: log, send: func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}}
	var err error
	if n.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		log.Warn("the service manager cannot be notified", "err", err)
	}
	return n
}

// Run reports that w is ready, shows that it lives while it answers, and reports its end when ctx ends. The returned
// function ends it. A nil Notifier reports nothing.
func (n *Notifier) Run(ctx context.Context, w watched) (end func()) {
	if n == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		n.watch(ctx, w, stop)
	}()
	return func() {
		close(stop)
		<-ended
	}
}

func (n *Notifier) watch(ctx context.Context, w watched, stop <-chan struct{}) {
	ready := w.Ready()
	var pulse <-chan time.Time
	if n.watchdog > 0 {
		tick := time.NewTicker(n.watchdog / 2) // as sd_watchdog_enabled(3) advises
		defer tick.Stop()
		pulse = tick.C
	}
	for {
		select {
		case <-ready:
			ready = nil
			n.say(daemon.SdNotifyReady)
		case <-pulse:
			n.beat(ctx, w)
		case <-ctx.Done():
			n.say(daemon.SdNotifyStopping)
			return
		case <-stop:
			return
		}
	}
}

// beat shows that w lives, if it does.
func (n *Notifier) beat(ctx context.Context, w watched) {
	ctx, cancel := context.WithTimeout(ctx, n.watchdog/2)
	defer cancel()
	if err := w.Answers(ctx); err == nil {
		n.say(daemon.SdNotifyWatchdog)
	} else if ctx.Err() == context.DeadlineExceeded {
		n.log.Error("the loop does not answer: the service manager gets no watchdog message", "err", err)
	}
}

func (n *Notifier) say(state string) {
	if err := n.send(state); err != nil {
		n.log.Warn("the service manager was not notified", "state", state, "err", err)
	}
}
