package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	return command(`man DIR
Write the manual pages to a folder

$ sm man ~/.local/share/man/man1
`, nil, func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		root.DisableAutoGenTag = true
		_, list, _ := strings.Cut(root.UsageString(), "\n\nLook:")
		list, _, _ = strings.Cut(list, "\n\nFlags:")
		root.Long += "\n\n# COMMANDS\n```\nLook:" + list + "\n```"
		_ = os.Mkdir(args[0], 0o755) // an error without a folder follows below
		err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sm"}, args[0])
		if err != nil {
			return fmt.Errorf("write the manual pages: %w; name a folder to write to, in one that exists", err)
		}
		pages, _ := filepath.Glob(filepath.Join(args[0], "sm*.1"))
		for _, path := range pages {
			text, _ := os.ReadFile(path) // it was just written
			text = regexp.MustCompile(`(?m)(\[=false\]|=""|=0)$`).ReplaceAll(text, nil)
			err = cmp.Or(err, os.WriteFile(path, text, 0o644))
		}
		return err
	})
}
