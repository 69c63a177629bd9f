package install

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Around is what an installation depends on and does not change.
type Around struct {
	Temporary string // the folder for temporary files
	GuardOn   bool   // by the configuration
	Config    string // its file, "" for none
	Observer  bool   // one runs
}

// Notes say what an installation that is done has not done, and how to: hooks need a program that stays, an observer, and,
// for the guard, its switch.
func (o Options) Notes(by Around) (notes []string) {
	called := cmp.Or(o.Small, o.Program)
	if where := PassingPlace(called, by.Temporary); where != "" {
		notes = append(notes, fmt.Sprintf("hooks now call %s, in %s: put sm where it stays, say with 'make install', and run 'sm install' with that one", called, where))
	}
	if o.Guard && !by.GuardOn {
		notes = append(notes, "guard.enabled is off, so no tool call is judged: set it to true in "+cmp.Or(by.Config, "the configuration"))
	}
	if !by.Observer {
		notes = append(notes, "no observer runs yet, so nobody hears of your agents: start one with 'sm observe', or at each login with 'sm service install'")
	}
	return notes
}

// PassingPlace says where a program is that will be gone one day while the client goes on calling it: go's build cache, the
// folder tmp for temporary files, or a checkout of sm, whose programs 'make clean' removes. "" for a place that lasts.
func PassingPlace(program, tmp string) string {
	for _, path := range []string{program, resolved(program)} {
		dir := filepath.Dir(path)
		switch checkout := checkoutOf(dir); {
		case strings.Contains(path, "/go-build"):
			return "go's build cache"
		case checkout != "":
			return "the checkout " + checkout
		case tmp != "" && strings.HasPrefix(path, filepath.Clean(tmp)+"/"):
			return "the temporary folder " + filepath.Clean(tmp)
		}
	}
	return ""
}

// resolved is where a path leads in the end; the path itself where that cannot be told.
func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// checkoutOf is the folder of sm's own source that dir is or stands in, "" for none.
func checkoutOf(dir string) string {
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "module "); ok && strings.TrimSpace(name) == "sm" {
				return folder
			}
		}
	}
	return ""
}
