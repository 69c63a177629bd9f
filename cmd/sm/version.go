package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sm/cmd/internal/version"
	"sm/cmd/sm/internal/usage"
)

func newVersionCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sm version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Stdout, versionOf())
			return err
		},
	}
}

func versionOf() string { return version.Line() }

// newManCommand writes the manual pages, for who packs the program.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages to a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usage.WriteMan(
				cmd.Root(),
				args[0],
			)
		},
	}
}
