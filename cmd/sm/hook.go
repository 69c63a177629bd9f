package main

import (
	"slices"

	"github.com/spf13/cobra"
)

func newHookCommand(env *environ) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Forward a client hook event to the observer (called by the client)",
		Long: "Read a hook's JSON from standard input, send it to the observer, and print the observer's reply. Without an observer\n" +
			"it prints nothing. It always ends within 2 s, with exit code 0.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.Hook(cmd.Context(), socketArgs(cmd))
			return nil
		},
	}
	cmd.Flags().String(
		"client",
		"",
		"the calling client: `C` is claude or codex; derived from the input by default",
	)
	return cmd
}

// socketArgs gives back the flags that cobra has parsed. Only `sm --socket PATH hook` comes this way.
func socketArgs(cmd *cobra.Command) (args []string) {
	for _, name := range []string{"socket", "client"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			args = append(args, "--"+name, f.Value.String())
		}
	}
	return args
}

func newStatuslineCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:   "statusline [-- COMMAND]",
		Short: "Print the context usage and forward it to the observer (called by the client)",
		Long: "Read the status line's JSON from standard input, send it to the observer, and print how full the context is,\n" +
			"followed by the output of COMMAND, another status line, for the same JSON.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			env.Statusline(
				cmd.Context(),
				slices.Concat(socketArgs(cmd), []string{"--"}, args),
			)
			return nil
		},
	}
}
