package main

import (
	"slices"

	"github.com/spf13/cobra"
)

func newHookCommand(env *environ) *cobra.Command {
	cmd := command(`hook
Forward a client hook event to the observer (called by the client)

Read a hook's JSON from standard input, send it to the observer, and print the observer's reply. Without an observer
it prints nothing. It always ends within 2 s, with exit code 0.

--client the calling client: <C> is claude or codex; derived from the input by default
`, flags{
		"client": new(string),
	}, func(cmd *cobra.Command, _ []string) error {
		env.Hook(cmd.Context(), givenFlags(cmd, "socket", "client"))
		return nil
	})
	cmd.Args = cobra.ArbitraryArgs
	return cmd
}

// givenFlags returns, as arguments, the flags with these names that were set.
func givenFlags(cmd *cobra.Command, names ...string) (args []string) {
	for _, name := range names {
		if f := cmd.Flag(name); f != nil && f.Changed {
			args = append(args, "--"+name, f.Value.String())
		}
	}
	return args
}

func newStatuslineCommand(env *environ) *cobra.Command {
	cmd := command(`statusline [-- COMMAND]
Print the context usage and forward it to the observer (called by the client)

Read the status line's JSON from standard input, send it to the observer, and print how full the context is,
followed by the output of COMMAND, another status line, for the same JSON.
`, nil, func(cmd *cobra.Command, args []string) error {
		given := givenFlags(cmd, "socket")
		env.Statusline(cmd.Context(), slices.Concat(given, []string{"--"}, args))
		return nil
	})
	cmd.Args = cobra.ArbitraryArgs
	return cmd
}
