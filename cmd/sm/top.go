package main

import (
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/top"
	"sm/handoff/tmux"
)

func newTopCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet in the terminal",
		Long: "Show sessions as they change: how full each context is, where its client compacts, and what is under way. Those\n" +
			"that have been quiet for longer than metrics.session_ttl, or are more than metrics.max_sessions, are left out.\n" +
			"s sends the selected agent a message, a goes to its tmux pane, o opens the page at it, h shows its handoffs, y copies\n" +
			"its id; ? lists all keys. Without colours where NO_COLOR is set.",
		Example: "  sm top\n  NO_COLOR=1 sm top",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !term.IsTerminal(env.stdin) || !term.IsTerminal(env.stdout) {
				return absentf("this is no terminal to draw on; use 'sm status'")
			}
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			return statusError(top.Run(cmd.Context(), client, top.Options{
				In: env.stdin, Out: env.stdout, Environ: env.vars(), Colour: env.colourful(), From: env.caller().Origin(time.Now()).Agent, Browse: env.browse,
				Attach: func(socket, pane string) (*exec.Cmd, error) {
					return tmux.Attach(cmd.Context(), tmux.Pane{Socket: socket, ID: pane}, env.vars())
				},
			}))
		},
	}
}

// colourful says whether the terminal takes colours.
func (env *environ) colourful() bool {
	kind, _ := env.lookupEnv("TERM")
	return env.colours(env.stdout) && kind != "dumb"
}
