package main

import (
	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/top"
)

func newTopCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet in the terminal",
		Long: "Show sessions as they change: how full each context is, where its client compacts, and what is under way. Those\n" +
			"that have been quiet for longer than metrics.session_ttl, or are more than metrics.max_sessions, are left out.\n" +
			"? lists the keys. Without colours where NO_COLOR is set.",
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
			err = top.Run(cmd.Context(), client, top.Options{In: env.stdin, Out: env.stdout, Environ: env.vars(), Colour: env.colourful()})
			return statusError(err)
		},
	}
}

// colourful says whether the terminal takes colours.
func (env *environ) colourful() bool {
	kind, _ := env.lookupEnv("TERM")
	return env.colours(env.stdout) && kind != "dumb"
}
