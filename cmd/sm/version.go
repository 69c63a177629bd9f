package main

import (
	"github.com/spf13/cobra"

	"sm/cmd/internal/version"
	"sm/cmd/sm/internal/usage"
)

func newVersionCommand(env *environ) *cobra.Command {
	return command(`version
Print the version

$ sm version
`, nil, func(*cobra.Command, []string) error {
		return env.print("%s", versionOf())
	})
}

func versionOf() string { return version.Line() }

// newManCommand writes the manual pages, for who packs the program.
func newManCommand() *cobra.Command {
	cmd := command(`man DIR
Write the manual pages to a folder
`, nil, func(cmd *cobra.Command, args []string) error {
		return usage.WriteMan(cmd.Root(), args[0])
	})
	cmd.Hidden = true
	return cmd
}
