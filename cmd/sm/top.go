package main

import (
	"cmp"
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
	t := &topRun{environ: env}
	return command(`top
Watch the fleet in the terminal

Show sessions as they change: how full each context is, where its client compacts, and what it does. Sessions without
activity for longer than metrics.session_ttl, and those beyond metrics.max_sessions, are left out. For the selected
agent, s sends a message, a goes to its tmux pane, o opens its page, h shows its handoffs, y copies its id; ? lists all
keys. NO_COLOR turns colours off.

With --prometheus it shows the sessions of all machines that write to one server with Prometheus' API (Prometheus,
VictoriaMetrics, Mimir, Thanos), each with its host. This view is read-only.

$ sm top
$ sm top --prometheus https://metrics.example --prometheus-config ~/.config/sm/prometheus.yml
$ NO_COLOR=1 sm top

--client show only the sessions of <CLIENT>: claude or codex
--prometheus show the sessions of all machines from the server at <URL>, or from the configured server of that name
--prometheus-config HTTP client settings for that server in <FILE> (authorization, tls_config, …), in the format of Prometheus
`, flags{
		"prometheus":        &t.server.URL,
		"prometheus-config": &t.server.HTTPConfig,
		"client":            &t.client,
	}, t.run)
}

// topRun is one call of sm top.
type topRun struct {
	*environ
	server central.Options
	client string
}

// run shows the sessions of this machine's observer, or those of a server for
// all machines.
func (t *topRun) run(cmd *cobra.Command, _ []string) error {
	unknown := top.CheckName("client", t.client, clientNames())
	empty := emptyFlag(cmd.Flags())
	switch {
	case !term.IsTerminal(t.Stdin) || !term.IsTerminal(t.Stdout):
		return absentf("this is no terminal to draw on; use 'sm status'")
	case empty != nil:
		return empty
	case unknown != nil:
		return usagef("--client: %w", unknown)
	case t.server.URL == "" && t.server.HTTPConfig != "":
		return usagef("--prometheus-config is for --prometheus, which is not given")
	}
	o := top.Options{
		In:      t.Stdin,
		Out:     t.Stdout,
		Environ: t.Vars(),
		Colour:  t.colours(t.Stdout) && t.Get("TERM") != "dumb",
		Client:  t.client,
	}
	if t.server.URL != "" {
		return t.runCentral(cmd, o)
	}
	client, err := t.environ.client(cmd)
	if err != nil {
		return err
	}
	o.From = t.Origin(time.Now()).Agent
	o.Browse = t.browse
	o.Attach = func(socket, pane string) (*exec.Cmd, error) {
		return tmux.Attach(cmd.Context(), tmux.Pane{Socket: socket, ID: pane}, t.Vars())
	}
	return top.Run(cmd.Context(), client, o)
}

// configure replaces the name of a configured server by its address.
func (t *topRun) configure(cmd *cobra.Command) error {
	if strings.ContainsAny(t.server.URL, ":/") {
		return nil
	}
	cfg, err := t.config(cmd)
	if err != nil {
		return err
	}
	for _, s := range cfg.Prometheus {
		if s.Name == t.server.URL {
			t.server.URL = s.URL
			t.server.HTTPConfig = cmp.Or(t.server.HTTPConfig, s.HTTPConfig)
			return nil
		}
	}
	return absentf(
		"%q is no address, and no name under prometheus in the configuration; give one such as http://127.0.0.1:9090",
		t.server.URL,
	)
}

// runCentral shows the sessions of all machines that write to the server.
func (t *topRun) runCentral(cmd *cobra.Command, o top.Options) error {
	if err := t.configure(cmd); err != nil {
		return err
	}
	server, err := central.New(t.server)
	if err == nil {
		defer server.Close()
		o.Central = server
		err = top.Run(cmd.Context(), nil, o)
	}
	if err != nil {
		return absentf("%w", err)
	}
	return nil
}
