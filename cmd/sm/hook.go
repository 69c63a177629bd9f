package main

import (
	"slices"

	"github.com/spf13/cobra"
)

func newHookCommand(env *environ) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Tell the observer what a hook of the client says; called by the client",
		Long: "Read a hook's JSON from standard input, hand it to the observer, and print what the observer wants the agent\n" +
			"to know. Without an observer it is silent. It always ends within 2 s, with exit code 0.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.Hook(cmd.Context(), socketArgs(cmd))
			return nil
		},
	}
	cmd.Flags().String("client", "", "the client that calls: `C` is claude or codex; by what it says where that is left out")
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
		Short: "Print the context's share and tell it to the observer; called by the client",
		Long: "Read the status line's JSON from standard input, hand it to the observer, and print how full the context is,\n" +
			"followed by what COMMAND, another status line, prints for the same JSON.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			env.Statusline(cmd.Context(), slices.Concat(socketArgs(cmd), []string{"--"}, args))
			return nil
		},
	}
}
