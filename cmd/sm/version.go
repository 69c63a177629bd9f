package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/usage"
)

func newVersionCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sm version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.stdout, versionOf())
			return err
		},
	}
}

func versionOf() string {
	info, _ := debug.ReadBuildInfo()
	return versionLine(info)
}

// newManCommand writes the manual pages, for who packs the program.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return usage.WriteMan(cmd.Root(), args[0]) },
	}
}

// A buildInfo is what the toolchain recorded about this binary.
type buildInfo struct {
	version string // the module's version, or "devel"
	commit  string // short, with "-dirty" when the tree was changed; or "no commit"
	date    string // the day of the commit in UTC; empty where there is none
}

// buildOf reads the version from the build information alone: nothing has to be set at link time, and a binary
// from `go install` knows its version too.
func buildOf(info *debug.BuildInfo) buildInfo {
	b := buildInfo{version: "devel", commit: "no commit"}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.version = v
	}
	var dirty bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			b.date, _, _ = strings.Cut(s.Value, "T")
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.commit += "-dirty"
	}
	return b
}

func versionLine(info *debug.BuildInfo) string {
	b := buildOf(info)
	built := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, b.commit, b.date}
	built = slices.DeleteFunc(built, func(s string) bool { return s == "" })
	return fmt.Sprintf("sm %s (%s)", b.version, strings.Join(built, ", "))
}
