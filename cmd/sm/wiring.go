package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/alerts"
	"sm/cmd/internal/caller"
	"sm/cmd/internal/version"
	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/prompt"
	"sm/dashboards/page"
	"sm/dashboards/screen/plain"
	"sm/handoff"
	"sm/handoff/proc"
	"sm/handoff/rotation"
	"sm/handoff/tmux"
	"sm/observer"
	"sm/observer/alertmanager"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/notify"
	"sm/transcript/follow"
	"sm/transcript/wording"
)

// load finds the configuration and reads it.
func (env *environ) load(
	flags *pflag.FlagSet,
) (source config.Source, cfg *config.Config, err error) {
	if name, _ := flags.GetString("config"); name == "" && flags.Changed("config") {
		return source, nil, usagef("--config is empty: give it a file")
	}
	source, err = config.Find(flags, env.Env)
	if err == nil {
		cfg, err = source.Load(flags, env.Env)
	}
	return source, cfg, err
}

// config reads the configuration for a command.
func (env *environ) config(cmd *cobra.Command) (*config.Config, error) {
	_, cfg, err := env.load(cmd.Flags())
	return cfg, err
}

// reach returns the configuration, and a client of the observer that it names.
func (env *environ) reach(cmd *cobra.Command) (*config.Config, *api.Client, error) {
	cfg, err := env.config(cmd)
	if err != nil {
		return nil, nil, err
	}
	sockets, err := cfg.SocketPaths(env.Env)
	return cfg, api.NewClient(sockets), err
}

func quote(s string) string { return plain.Quote(s) }

// alertOptions returns the settings of the alert policy.
func alertOptions(c *config.Config) alerts.Options {
	m := c.ContextMonitor
	return alerts.Options{
		Disabled:            !m.Enabled,
		Thresholds:          m.Thresholds,
		Estimate:            m.Estimate,
		ForecastReplies:     m.ForecastReplies,
		ForecastTurns:       m.ForecastTurns,
		NoDataAfter:         m.NoDataAfter,
		CompactionThreshold: c.Compaction.ThresholdTokens,
		Settle:              c.Compaction.Settle,
		Storm:               c.Storm,
		Reminders:           c.Reminders,
		Messages:            c.Messages.Messages,
	}
}

// observerOptions returns the observer's options for a configuration. only
// means that the user has named the folders to watch: those of Codex are then
// watched only if CODEX_HOME is set.
func (env *environ) observerOptions(
	cfg *config.Config,
	only bool,
) (o observer.Options, err error) {
	projects, err := cfg.ProjectDirs(env.Env)
	if err != nil {
		return o, err
	}
	held := caller.Holder(new(proc.Locks))
	o.Clients = clientTable(held, projects, env.WatchedCodexDirs(only))
	if o.State, err = env.StateDir(cfg.State); err != nil {
		return o, err
	}
	if o.Socket, err = cfg.ServerSocket(env.Env); err != nil {
		return o, err
	}
	o.Listen = cfg.Listen
	o.MetricsListen = cfg.Metrics.Listen
	o.WebConfigFile = cfg.Metrics.WebConfigFile
	o.Logger, o.Level = env.logger(cfg)
	o.Alive = proc.Alive
	o.Ancestry = ancestry
	o.Origin = caller.OfProcess
	o.Enqueuer = prompt.Queue{Clients: o.Clients}
	build := version.Self()
	o.Version = build.Version
	o.Commit = build.Commit
	o.Stats = &follow.Stats{}
	o.CaughtUp = func(transcripts int) { debug.SetGCPercent(garbagePercent(transcripts)) }
	o.Sanitise = tmux.Sanitise
	o.Terminal = prompt.New(o.Logger)
	o.Web = func(a *observer.App) (observer.Web, error) {
		return page.New(page.Options{
			Source:  a,
			Version: o.Version,
			Log:     o.Logger,
			Servers: cfg.Prometheus,
		})
	}
	o.Settings, err = env.settings(cfg, o.Logger)
	return o, err
}

// alertmanagers returns the options of the Alertmanagers that are queried for
// the alerts of this machine.
func alertmanagers(cfg *config.Config) alertmanager.Options {
	o := cfg.Alertmanager
	if o.Host == "" {
		o.Host, _ = os.Hostname() // Check reports a missing name
	}
	return o
}

// settings returns the settings that can change while the observer runs.
func (env *environ) settings(
	cfg *config.Config,
	log *slog.Logger,
) (s observer.Settings, err error) {
	s = observer.Settings{
		AllowedHosts: cfg.HTTP.AllowedHosts,
		Alertmanager: alertmanagers(cfg),
		SessionTTL:   cfg.Metrics.SessionTTL,
		MaxSessions:  cfg.Metrics.MaxSessions,
		HideProject:  !cfg.Metrics.Project,
		Windows:      cfg.Windows,
		Prices:       cfg.Cost.Prices,
		Alerts:       alertOptions(cfg),
		Queue:        cfg.Queue,
		Guard:        observer.GuardOptions(cfg.Guard),
		TypeTexts:    cfg.Delivery.TypeTexts,
		Rereads:      cfg.Messages.Rereads,
		LogLevel:     logLevel(cfg),
		Waiting:      cfg.Operator.Waiting,
	}
	for _, uid := range cfg.HTTP.AllowedUIDs {
		s.AllowedUIDs = append(s.AllowedUIDs, uint32(uid))
	}
	if s.WebhookToken, err = cfg.WebhookToken(); errors.Is(err, config.ErrTokenExposed) {
		log.Error("POST /alerts/webhook is not served", "err", err)
	} else if err != nil {
		return s, err
	}
	if argv := cfg.Operator.Notify; len(argv) > 0 {
		s.Operator = &notify.Command{Argv: argv}
	}
	s.Queue.Offers = maxOffers
	s.Alerts.OperatorCompactions = cfg.Operator.Compactions
	s.Guard.Program, _ = env.Executable() // without a path agents call sm by its name
	s.Handoff, err = env.handoffOptions(cfg, log)
	return s, err
}

func logLevel(cfg *config.Config) (level slog.Level) {
	_ = level.UnmarshalText([]byte(cfg.Log.Level)) // validated
	return level
}

// logger returns a logger that writes to standard error, and its level.
func (env *environ) logger(cfg *config.Config) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(logLevel(cfg))
	o := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(env.Stderr, o)), level
	}
	return slog.New(slog.NewTextHandler(env.Stderr, o)), level
}

// handoffOptions returns the settings of handoffs.
func (env *environ) handoffOptions(
	c *config.Config,
	log *slog.Logger,
) (o observer.HandoffOptions, err error) {
	h := c.Handoff
	dir, err := handoffDir(c, env)
	if err != nil {
		return o, err
	}
	o = observer.HandoffOptions{
		Rotations:     rotation.Defaults(),
		Documents:     handoff.NewDocuments(dir, h.Expiry, log.With("component", "handoff")),
		DocumentBytes: h.DocumentBytes,
		Characters:    h.InjectCharacters,
		AutoDocument:  h.AutoDocument,
		AutoRotate:    h.AutoRotate,
		Channels:      c.Channels,
	}
	o.Rotations.BreakerCount = h.BreakerCount
	o.Rotations.BreakerWithin = h.BreakerWithin
	o.Rotations.Resume, err = resumePrompt(c.Messages.Resume)
	return o, err
}

// resumePrompt returns a function that makes the prompt after a handoff from
// the template messages.resume. Without a text it is the default prompt.
func resumePrompt(text string) (func(path string) string, error) {
	if text == "" {
		return wording.Resume, nil
	}
	prompt, err := template.New("messages.resume").Parse(text)
	execute := func(path string) (string, error) {
		return alerts.Render(prompt, struct{ Path string }{path})
	}
	tried := ""
	if err == nil {
		tried, err = execute("/a/path")
	}
	if err != nil {
		return nil, fmt.Errorf("messages.resume: %w; only {{.Path}} is available", err)
	}
	if !strings.Contains(tried, "/a/path") {
		return nil, errors.New("messages.resume does not name the document; put {{.Path}} into it")
	}
	return func(path string) string {
		line, _ := execute(path) // it was tried above
		return tmux.Sanitise(line)
	}, nil
}

// maxOffers limits how often a message is given to a client that never writes
// it into its transcript.
const maxOffers = 10

// ancestry returns the lineage of a process in the observer's type.
func ancestry(pid int) (line []fleet.Process) {
	for p := range proc.Lineage("/proc", pid) {
		line = append(line, fleet.Process{PID: p.PID, Start: p.Start})
	}
	return line
}
