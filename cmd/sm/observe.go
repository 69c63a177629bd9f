package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/handoff"
	"sm/handoff/tmux"
	"sm/observer"
	"sm/transcript/follow"
	"sm/transcript/hook"
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
			// A fleet is mostly quiet: memory counts for more than the processor.
			debug.SetGCPercent(50)
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
	configFlag(flags, "projects", "projects")
	configFlag(flags, "listen", "listen")
	configFlag(flags, "state", "state")
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
func (env *environ) observerOptions(cfg *config) (o observer.Options, err error) {
	if o.Projects, err = projectDirs(cfg, env); err != nil {
		return o, err
	}
	o.Guard.Enabled = cfg.Guard.Enabled
	o.Guard.Guard = handoff.Guard{Threshold: cfg.Guard.OverflowThreshold, Allow: cfg.Guard.Allow}
	if self, err := env.executable(); err == nil { // else agents call us by the name alone
		o.Guard.Program = self
	}
	if o.State, err = stateDir(cfg, env); err != nil {
		return o, err
	}
	if o.Socket, err = serverSocket(cfg, env); err != nil {
		return o, err
	}
	o.Listen, o.MetricsListen, o.WebConfigFile = cfg.Listen, cfg.Metrics.Listen, cfg.Metrics.WebConfigFile
	o.AllowedHosts = cfg.HTTP.AllowedHosts
	for _, uid := range cfg.HTTP.AllowedUIDs {
		o.AllowedUIDs = append(o.AllowedUIDs, uint32(uid))
	}
	if o.WebhookToken, err = webhookToken(cfg.HTTP.WebhookTokenFile); err != nil {
		return o, err
	}
	o.SessionTTL, o.MaxSessions, o.HideProject = cfg.Metrics.SessionTTL, cfg.Metrics.MaxSessions, !cfg.Metrics.Project
	o.Windows, o.Alerts, o.Queue, o.Notify = cfg.windowRules(), cfg.alerts(), cfg.queue(), cfg.Operator.Notify
	o.Alive, o.Ancestry = alive, ancestry
	if info, ok := debug.ReadBuildInfo(); ok {
		build := buildOf(info)
		o.Version, o.Commit = build.version, build.commit
	}
	o.Logger = env.logger(cfg)
	o.Stats = &follow.Stats{}
	o.Sanitise = func(text string) string { return tmux.Sanitise(text, hook.MaxCharacters) }
	if err := cfg.handoff(&o, env); err != nil {
		return o, err
	}
	if p := newPrompts(o.Logger); p != nil {
		o.Terminal = p
	}
	return o, nil
}

// tokenMost bounds a token, in bytes; tokenLeast is what nobody guesses.
const tokenMost, tokenLeast = 4096, 16

// webhookToken reads the token that Alertmanager shows, "" where no file is configured.
func webhookToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := configSource{path, true}.read()
	if err != nil {
		return "", fmt.Errorf("http.webhook_token_file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < tokenLeast || len(token) > tokenMost || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("http.webhook_token_file: %s holds no token; put one line of %d to %d printable ASCII characters there", path, tokenLeast, tokenMost)
	}
	return token, nil
}

func (env *environ) logger(cfg *config) *slog.Logger {
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
	if !terminal(env.stderr) {
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
	wipe, stop, stopped := showProgress(env.stderr, o.Stats), make(chan struct{}), make(chan struct{})
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
