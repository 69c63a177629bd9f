package main

import (
	"fmt"
	"os"
	"strings"

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
		root := cmd.Root()
		root.DisableAutoGenTag = true
		_, list, _ := strings.Cut(root.UsageString(), "\n\nLook:")
		list, _, _ = strings.Cut(list, "\n\nFlags:")
		root.Long += "\n\n# COMMANDS\n```\nLook:" + list + "\n```"
		_ = os.Mkdir(args[0], 0o755) // no page can be written where there is no folder
		err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sm"}, args[0])
		if err != nil {
			return fmt.Errorf("write the manual pages: %w; name a folder to write to, in one that exists", err)
		}
		return nil
	})
	cmd.Hidden = true
	return cmd
}
