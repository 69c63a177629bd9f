package observer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/transcript"
)

// Settings are the part of Options that may change while an observer runs. They are never changed in place: Apply puts
// others into their stead.
type Settings struct {
	// AllowedHosts and AllowedUIDs are names of this server and users that TCP is open to, besides the usual ones.
	AllowedHosts []string
	AllowedUIDs  []uint32
	// WebhookToken lets Alertmanager in over TCP; "" for nobody.
	WebhookToken string
	// SessionTTL is how long after its last activity a session stays in /metrics, MaxSessions how many are shown there
	// at most; 0 is without limit for both.
	SessionTTL  time.Duration
	MaxSessions int
	// HideProject leaves the project out of /metrics.
	HideProject bool
	Windows     []transcript.WindowRule
	// Alerts are the settings of the policy, Queue those of the messages.
	Alerts alerts.Options
	Queue  outbox.Options
	// Notify is a command that gets each notice to the operator on its standard input; empty for none.
	Notify []string
	// Guard refuses the tool calls of sessions whose context is full; the zero value is off.
	Guard GuardOptions
	// TypeTexts lets texts of others be typed whole where no hook of the client works; else they wait for one.
	TypeTexts bool
	Handoff   HandoffOptions
	// LogLevel is the least that Options.Level lets through.
	LogLevel slog.Level
}

// HandoffOptions are the settings of handoffs.
type HandoffOptions struct {
	Rotations rotation.Options
	// Documents keeps the documents, nil for no handoffs; Channels are those configured.
	Documents *handoff.Documents
	Channels  []handoff.Channel
	// DocumentBytes bounds a document, Characters what a session's start is told of it, in UTF-16 units.
	DocumentBytes int64
	Characters    int
	// AutoDocument makes a document before each compaction, AutoRotate restarts an agent
	// under `sm run` whose context is critical.
	AutoDocument, AutoRotate bool
}

// Check says what an observer would refuse: a text that is no template, or a file for metrics.listen that does not hold.
func (o *Options) Check() error {
	if _, err := alerts.New(o.Alerts); err != nil {
		return fmt.Errorf("settings of the policy: %w", err)
	}
	if o.MetricsListen == "" {
		return nil
	}
	if err := web.Validate(o.WebConfigFile); err != nil {
		return fmt.Errorf("read %s: %w; see metrics.web_config_file", o.WebConfigFile, err)
	}
	return nil
}

// Apply lets the observer go on with other settings: all of them between two events of the loop, or, with an error, none.
func (a *App) Apply(ctx context.Context, s Settings) error {
	var refused error
	if err := a.do(ctx, func(c *core) { refused = a.configure(c, &s) }); err != nil {
		return err
	}
	return refused
}

func (a *App) configure(c *core, s *Settings) error {
	if err := c.configure(s); err != nil {
		return err
	}
	a.settings.Store(s)
	a.guarded(s)
	for _, shares := range a.shares {
		shares.Allow(s.AllowedUIDs)
	}
	if a.o.Level != nil {
		a.o.Level.Set(s.LogLevel)
	}
	return nil
}

// configure gives the settings to those that keep a copy. With an error nothing has changed.
func (c *core) configure(s *Settings) error {
	if err := c.engine.Configure(s.Alerts); err != nil {
		return fmt.Errorf("settings of the policy: %w", err)
	}
	c.queue.Configure(s.Queue)
	c.rotations.Configure(s.Handoff.Rotations)
	c.fleet.Configure(s.Windows, s.Alerts.Thresholds)
	c.settings = s
	c.edits.Add(1)
	if c.caughtUp { // what follows for agents that are known
		now := time.Now()
		c.clock(now)
		c.rules.ask(now)
		c.rules.levels()
	}
	return nil
}

// guarded puts the guard in front of all routes: anew for TCP, where the settings say who may come in. The socket's is
// returned; it is open to our own uid whatever they say.
func (a *App) guarded(s *Settings) (onSocket http.Handler) {
	onSocket, onTCP := access.NewHandlers((&server{a}).routes(), access.Options{
		AllowedHosts: s.AllowedHosts, AllowedUIDs: s.AllowedUIDs, Token: s.WebhookToken, Passes: a.passes, Logger: a.log, Rejected: a.metrics.Refused,
	})
	a.onTCP.Store(&onTCP)
	return onSocket
}

// Reloaded is what Options.Reload has read.
type Reloaded struct {
	Settings
	// Restart are the keys that have changed and wait for a restart.
	Restart []string
}

// reloads says how reading the configuration went last. The start counts as the first time.
type reloads struct {
	failed atomic.Bool
	at     atomic.Int64 // when it went well last, in Unix milliseconds
}

func (r *reloads) done(now time.Time) {
	r.at.Store(now.UnixMilli())
	r.failed.Store(false)
}

// errNoReload answers who asks an observer that was started without a configuration.
var errNoReload = errors.New("this observer has no configuration to read again; start it anew")

// A BadSettingsError is a configuration that does not hold. The old one stays in effect.
type BadSettingsError struct{ Err error }

func (e *BadSettingsError) Error() string { return e.Err.Error() }
func (e *BadSettingsError) Unwrap() error { return e.Err }

// Reload reads the configuration again by Options.Reload and applies it. What came of it is in the log and in /metrics.
// An error is a *BadSettingsError, or says that there is nothing to read, or that the loop has ended or ctx.
func (a *App) Reload(ctx context.Context) error {
	if a.o.Reload == nil {
		return errNoReload
	}
	a.reloading.Lock() // two that follow each other must not be applied the other way round
	defer a.reloading.Unlock()
	read, err := a.o.Reload()
	if err == nil {
		o := a.o
		o.Settings = read.Settings
		err = o.Check()
	}
	if err != nil {
		err = &BadSettingsError{err}
	} else {
		err = a.Apply(ctx, read.Settings)
	}
	if err != nil {
		a.reloads.failed.Store(true)
		a.log.Error("configuration not reloaded: the old one stays in effect", "err", err)
		return err
	}
	a.reloads.done(time.Now())
	a.log.Info("configuration reloaded")
	if len(read.Restart) > 0 {
		a.log.Warn("changed keys that need a restart", "keys", strings.Join(read.Restart, ","))
	}
	return nil
}

// postReload is POST /-/reload.
func (s *server) postReload(w http.ResponseWriter, r *http.Request) error {
	err := s.Reload(r.Context())
	if _, bad := errors.AsType[*BadSettingsError](err); bad {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, map[string]string{"status": "reloaded"})
}
