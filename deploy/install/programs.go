package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// SmallName is the name of the small program: it does what `sm hook` and `sm
// statusline` do, with the same arguments, and starts faster.
const SmallName = "sm-hook"

// Small returns the path of the small program in the directory of program, an
// sm of this version. path is "" if there is none, or if program is not called
// sm: hooks advise agents to call sm. If the small program has another version,
// stale is its path. Small returns an error if the version is not printed in
// time.
func Small(
	ctx context.Context,
	program, version string,
	environ []string,
) (path, stale string, err error) {
	path = filepath.Join(filepath.Dir(program), SmallName)
	if filepath.Base(program) != "sm" || !Runnable(path) {
		return "", "", nil
	}
	printed, err := Ask(ctx, ProgramPatience, environ, path, "version")
	if err == nil && printed != version {
		return "", path, nil
	}
	return path, "", err
}

// Runnable reports whether a path is an executable program.
func Runnable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// PassingPlace describes the place of a program that will be deleted: go's
// build cache, the folder for temporary files, or a checkout of sm, where 'make
// clean' removes it. It returns "" for any other place.
func PassingPlace(program, tmp string) string {
	paths := []string{program}
	if to, err := filepath.EvalSymlinks(program); err == nil {
		paths = append(paths, to)
	}
	for _, path := range paths {
		checkout := checkoutOf(filepath.Dir(path))
		switch {
		case strings.Contains(path, "/go-build"):
			return "go's build cache"
		case checkout != "":
			return "the checkout " + checkout
		case tmp != "" && strings.HasPrefix(path, filepath.Clean(tmp)+"/"):
			return filepath.Clean(tmp)
		}
	}
	return ""
}

// checkoutOf returns dir or its parent, if it is a checkout of sm, else "".
func checkoutOf(dir string) string {
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		text, _ := os.ReadFile(filepath.Join(folder, "go.mod"))
		if regexp.MustCompile(`(?m)^\s*module sm\s*$`).Match(text) {
			return folder
		}
	}
	return ""
}
