package main

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/central"
	"sm/dashboards/top"
	"sm/handoff/tmux"
)

func newTopCommand(env *environ) *cobra.Command {
	server := central.Options{}
	only := ""
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet in the terminal",
		Long: "Show sessions as they change: how full each context is, where its client compacts, and what it does. Sessions without\n" +
			"activity for longer than metrics.session_ttl, and those beyond metrics.max_sessions, are left out. For the selected\n" +
			"agent, s sends a message, a goes to its tmux pane, o opens its page, h shows its handoffs, y copies its id; ? lists all\n" +
			"keys. NO_COLOR turns colours off.\n\n" +
			"--prometheus shows the sessions of all machines that write to one server with Prometheus' API (Prometheus,\n" +
			"VictoriaMetrics, Mimir, Thanos), each with its host. This view is read-only.",
		Example: "  sm top\n  sm top --prometheus https://metrics.example --prometheus-config ~/.config/sm/prometheus.yml\n  NO_COLOR=1 sm top",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTop(
				cmd,
				env,
				server,
				only,
			)
		},
	}
	cmd.Flags().StringVar(
		&server.URL,
		"prometheus",
		"",
		"show the sessions of all machines from the server at `URL`, or from the configured server of that name",
	)
	cmd.Flags().StringVar(
		&server.HTTPConfig,
		"prometheus-config",
		"",
		"HTTP client settings for that server in `FILE` (authorization, tls_config, …), in the format of Prometheus",
	)
	clientFlag(cmd, &only)
	return cmd
}

// runTop shows the sessions of this machine's observer, or those that a server of all machines knows.
func runTop(cmd *cobra.Command, env *environ, server central.Options, only string) error {
	if !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout) {
		return absentf("this is no terminal to draw on; use 'sm status'")
	}
	if name := emptyFlag(cmd.Flags()); name != "" {
		return usagef("--%s is empty", name)
	}
	if err := top.ParseClient(only, clientNames()); err != nil {
		return usagef("--client: %w", err)
	}
	o := top.Options{
		In:      env.Stdin,
		Out:     env.Stdout,
		Environ: env.Vars(),
		Colour:  env.colourful(),
		Client:  only,
	}
	if server.URL != "" {
		if err := configured(cmd, env, &server); err != nil {
			return err
		}
		return topOfAll(cmd.Context(), server, o)
	}
	if server.HTTPConfig != "" {
		return usagef("--prometheus-config is for --prometheus, which is not given")
	}
	client, err := env.client(cmd)
	if err != nil {
		return err
	}
	o.From = env.caller().Origin(time.Now()).Agent
	o.Browse = env.browse
	o.Attach = func(socket, pane string) (*exec.Cmd, error) {
		return tmux.Attach(cmd.Context(), tmux.Pane{Socket: socket, ID: pane}, env.Vars())
	}
	return statusError(top.Run(cmd.Context(), client, o))
}

// configured puts the address of a server in the place of its name in the configuration.
func configured(cmd *cobra.Command, env *environ, o *central.Options) error {
	if strings.ContainsAny(o.URL, ":/") {
		return nil
	}
	cfg, err := env.config(cmd)
	if err != nil {
		return err
	}
	for _, s := range servers(cfg) {
		if s.Name == o.URL {
			o.URL, o.HTTPConfig = s.URL, cmp.Or(o.HTTPConfig, s.HTTPConfig)
			return nil
		}
	}
	return absentf(
		"%q is no address, and no name under prometheus in the configuration; give one such as http://127.0.0.1:9090",
		o.URL,
	)
}

// clientFlag lets a command show the sessions of one client alone.
func clientFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(
		name,
		"client",
		"",
		"show only the sessions of `CLIENT`: claude or codex",
	)
	_ = cmd.RegisterFlagCompletionFunc(
		"client",
		cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp),
	)
}

// topOfAll shows the sessions of all machines that write to a server.
func topOfAll(ctx context.Context, at central.Options, o top.Options) error {
	server, err := central.New(at)
	if err == nil {
		defer server.Close()
		o.Central = server
		err = top.Run(ctx, nil, o)
	}
	if err != nil {
		return absentf("%w", err)
	}
	return nil
}

// colourful reports whether the terminal has colours.
func (env *environ) colourful() bool {
	kind, _ := env.LookupEnv("TERM")
	return env.colours(env.Stdout) && kind != "dumb"
}
