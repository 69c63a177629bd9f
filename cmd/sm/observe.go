package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/handoff/guard"
	"sm/handoff/proc"
	"sm/handoff/tmux"
	"sm/observer"
	"sm/transcript/claude/hook"
	"sm/transcript/follow"
)

func newObserveCommand(env *environ) *cobra.Command {
	dryRun, demo := false, false
	cmd := &cobra.Command{
		Use:   "observe",
		Short: "Watch all sessions, export them, and answer the other commands",
		Long: "Watch the transcripts of this user's sessions until interrupted. What they add up to is on /metrics and in\n" +
			"'sm status'; it survives a restart in the state directory." + demoHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name := emptyFlag(cmd.Flags()); name != "" {
				return usagef("--%s is empty", name)
			}
			cfg, err := loadConfig(cmd.Flags(), env)
			if err != nil {
				return err
			}
			debug.SetGCPercent(garbagePercent(0))
			if demo {
				return env.demo(cmd.Context(), cmd.Flags(), cfg, dryRun)
			}
			o, err := env.observerOptions(cfg)
			if err != nil {
				return err
			}
			o.DryRun = dryRun
			notifier, ends := env.notifier(o.Logger), []func(){}
			err = observer.Run(cmd.Context(), o, func(a *observer.App) {
				ends = append(ends, env.greet(a, o), notifier.run(cmd.Context(), a))
			})
			for _, end := range ends {
				end()
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringArray("projects", nil, "watch the transcripts in and below `DIR`; may be given several times")
	flags.StringArray("listen", nil, "serve HTTP on the loopback address `ADDR`; may be given several times")
	flags.String("state", "", "keep state in `DIR`")
	flags.BoolVar(&dryRun, "dry-run", false, "let nobody hear anything: log what would be said")
	flags.BoolVar(&demo, "demo", false, "watch made-up agents in a temporary directory")
	config.BindFlag(flags, "projects", "projects")
	config.BindFlag(flags, "listen", "listen")
	config.BindFlag(flags, "state", "state")
	return cmd
}

// emptyFlag names a flag that was given without a value, as by an unset variable of
// a script: what it would fall back to is not what was meant.
func emptyFlag(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if isList && slices.Contains(list.GetSlice(), "") || !isList && f.Value.String() == "" {
			name = f.Name
		}
	})
	return name
}

// observerOptions turns the configuration into what the observer takes.
func (env *environ) observerOptions(cfg *config.Config) (o observer.Options, err error) {
	if o.Projects, err = cfg.ProjectDirs(env.lookupEnv); err != nil {
		return o, err
	}
	o.Guard.Enabled = cfg.Guard.Enabled
	o.Guard.Guard = guard.Guard{Threshold: cfg.Guard.OverflowThreshold, Allow: cfg.Guard.Allow}
	if self, err := env.executable(); err == nil { // else agents call us by the name alone
		o.Guard.Program = self
	}
	if o.State, err = cfg.StateDir(env.lookupEnv); err != nil {
		return o, err
	}
	if o.Socket, err = cfg.ServerSocket(env.lookupEnv); err != nil {
		return o, err
	}
	o.Listen, o.MetricsListen, o.WebConfigFile = cfg.Listen, cfg.Metrics.Listen, cfg.Metrics.WebConfigFile
	o.AllowedHosts = cfg.HTTP.AllowedHosts
	for _, uid := range cfg.HTTP.AllowedUIDs {
		o.AllowedUIDs = append(o.AllowedUIDs, uint32(uid))
	}
	o.Logger = env.logger(cfg)
	if o.WebhookToken, err = cfg.WebhookToken(); errors.Is(err, config.ErrTokenExposed) {
		o.Logger.Error("POST /alerts/webhook is not served", "err", err)
	} else if err != nil {
		return o, err
	}
	o.SessionTTL, o.MaxSessions, o.HideProject = cfg.Metrics.SessionTTL, cfg.Metrics.MaxSessions, !cfg.Metrics.Project
	o.Windows, o.Alerts, o.Queue, o.Notify = windowRules(cfg), alertOptions(cfg), queueOptions(cfg), cfg.Operator.Notify
	o.Alerts.OperatorCompactions = cfg.Operator.Compactions
	o.Alive, o.Ancestry = proc.Alive, ancestry
	if info, ok := debug.ReadBuildInfo(); ok {
		build := buildOf(info)
		o.Version, o.Commit = build.version, build.commit
	}
	o.Stats = &follow.Stats{}
	o.CaughtUp = func(transcripts int) { debug.SetGCPercent(garbagePercent(transcripts)) }
	o.Sanitise = func(text string) string { return tmux.Sanitise(text, hook.MaxCharacters) }
	if err := handoffOptions(cfg, &o, env); err != nil {
		return o, err
	}
	if p := newPrompts(o.Logger); p != nil {
		o.Terminal = p
	}
	o.TypeTexts = cfg.Delivery.TypeTexts
	return o, nil
}

func (env *environ) logger(cfg *config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Log.Level)) // validated
	o := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(env.stderr, o))
	}
	return slog.New(slog.NewTextHandler(env.stderr, o))
}

// greet tells who sits at a terminal where to look, and shows how the catching up goes. The returned function ends
// that.
func (env *environ) greet(a *observer.App, o observer.Options) (end func()) {
	if !term.IsTerminal(env.stderr) {
		return func() {}
	}
	fmt.Fprintf(env.stderr, "watching %s\n", strings.Join(o.Projects, ", "))
	for _, addr := range a.Addrs() {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			fmt.Fprintf(env.stderr, "page     http://%s/\nmetrics  http://%[1]s/metrics\n", tcp)
		}
	}
	command := "sm status"
	if o.Demo {
		command = "sm status --socket " + o.Socket
	}
	fmt.Fprintln(env.stderr, "sessions "+command)
	wipe, stop, stopped := term.ShowProgress(env.stderr, progressText(o.Stats)), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-a.Ready():
		case <-stop:
		}
		wipe()
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// garbagePercent is how much memory the observer may take for garbage, in percent of what it
// needs. A fleet is mostly quiet: memory counts for more than the processor. The sessions of many
// transcripts make up most of the memory: half of that on top would be much, and collecting it
// sooner costs little.
func garbagePercent(transcripts int) int {
	const many = 20_000
	if transcripts >= many {
		return 25
	}
	return 50
}
