package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A watched service is ready when Ready is closed, and healthy while Answers
// returns no error.
type watched interface {
	Ready() <-chan struct{}
	Answers(ctx context.Context) error
}

// A Notifier reports the state of the observer to the service manager by sd_notify(3).
type Notifier struct {
	send     func(state string) error
	watchdog time.Duration // 0 for none
	log      *slog.Logger
}

// NewNotifier returns a Notifier, or nil if the environment names no service
// manager.
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
		log.Warn("notify service manager failed", "err", err)
	}
	return n
}

// Run reports when w is ready, repeatedly that it answers, and the end of ctx.
// A nil Notifier reports nothing.
func (n *Notifier) Run(ctx context.Context, w watched) {
	if n == nil {
		return
	}
	ready := w.Ready()
	pulse := time.Tick(n.watchdog / 2) // as sd_watchdog_enabled(3) advises; nil for 0
	for {
		select {
		case <-ready:
			ready = nil
			n.report(daemon.SdNotifyReady)
		case <-pulse:
			patient, cancel := context.WithTimeout(ctx, n.watchdog/2)
			if err := w.Answers(patient); err == nil {
				n.report(daemon.SdNotifyWatchdog)
			} else if patient.Err() == context.DeadlineExceeded {
				n.log.Error("loop does not answer; no watchdog message sent", "err", err)
			}
			cancel()
		case <-ctx.Done():
			n.report(daemon.SdNotifyStopping)
			return
		}
	}
}

func (n *Notifier) report(state string) {
	if err := n.send(state); err != nil {
		n.log.Warn("notify service manager failed", "state", state, "err", err)
	}
}
