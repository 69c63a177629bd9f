// Package version says which build of sm a program is.
//
// Invariants: it comes from what the toolchain has recorded alone; programs of one build say the same.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Line is what `sm version` says of this program.
func Line() string {
	info, _ := debug.ReadBuildInfo()
	return lineOf(info)
}

// A Build is what the toolchain recorded about this binary.
type Build struct {
	Version string // the module's version, or "devel"
	Commit  string // short, with "-dirty" when the tree was changed; or "no commit"
	Date    string // the day of the commit in UTC; empty where there is none
}

// Of reads the version from the build information alone: nothing has to be set at link time, and a binary
// from `go install` knows its version too.
func Of(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Commit: "no commit"}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	var dirty bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			b.Date, _, _ = strings.Cut(s.Value, "T")
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.Commit += "-dirty"
	}
	return b
}

func lineOf(info *debug.BuildInfo) string {
	b := Of(info)
	built := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, b.Commit, b.Date}
	built = slices.DeleteFunc(built, func(s string) bool { return s == "" })
	return fmt.Sprintf("sm %s (%s)", b.Version, strings.Join(built, ", "))
}
