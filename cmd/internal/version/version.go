// Package version identifies the build of a program.
//
// Invariants: the version comes from the build information of the toolchain and
// from a variable that make build sets; the programs of one build have the same
// version; programs built by make with different hooks have different versions.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// hooks is the toolchain's hash of package hooks and its dependencies. make
// build sets it at link time.
var hooks string

// Line returns the line that `sm version` prints.
func Line() string { return lineOf(Self(), hooks) }

// Self returns the build of this program.
func Self() Build {
	info, _ := debug.ReadBuildInfo()
	return of(info)
}

// A Build is the toolchain's information about a binary.
type Build struct {
	Version string // the module's version, or "devel"
	Commit  string // short, with "-dirty" when the tree was changed; or "no commit"
	Date    string // the day of the commit in UTC; empty where there is none
}

// Values of Commit for builds without a commit or with changes.
const noCommit, dirty = "no commit", "-dirty"

// of uses only the build information: it needs no variables that are set at
// link time, so a binary from `go install` has a version too.
func of(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Commit: noCommit}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	var changed bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			b.Date, _, _ = strings.Cut(s.Value, "T")
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed {
		b.Commit += dirty
	}
	return b
}

// lineOf formats a version. It adds the hash of the hooks if the commit does
// not identify the source, so that builds of changed trees differ.
func lineOf(b Build, hooks string) string {
	if hooks != "" && (b.Commit == noCommit || strings.HasSuffix(b.Commit, dirty)) {
		hooks = "hooks " + hooks
	} else {
		hooks = ""
	}
	built := []string{
		runtime.Version(),
		runtime.GOOS + "/" + runtime.GOARCH,
		b.Commit,
		b.Date,
		hooks,
	}
	built = slices.DeleteFunc(built, func(s string) bool { return s == "" })
	return fmt.Sprintf("sm %s (%s)", b.Version, strings.Join(built, ", "))
}
