package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"sm/cmd/internal/version"
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

// newManCommand writes the manual pages, for packages of the program.
func newManCommand() *cobra.Command {
	cmd := command(`man DIR
Write the manual pages to a folder
`, nil, func(cmd *cobra.Command, args []string) error {
		cmd.Root().DisableAutoGenTag = true
		err := os.MkdirAll(args[0], 0o755)
		if err == nil {
			err = doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "sm"}, args[0])
		}
		if err != nil {
			return fmt.Errorf("write the manual pages: %w; name a folder that you may write to", err)
		}
		return nil
	})
	cmd.Hidden = true
	return cmd
}
