package install

import (
	"context"
	"os"
	"path/filepath"
)

// SmallName is the name of the small program: it does what `sm hook` and `sm statusline` do, with the same arguments, and
// starts faster.
const SmallName = "sm-hook"

// Small finds the small program that stands beside program, an sm that says this version of itself. There is none, "", where
// program has another name: what hooks tell agents to call is sm. One that says another version is not to be used, and then
// stale is its path: it belongs to another sm.
func Small(ctx context.Context, program, version string, environ []string) (path, stale string) {
	path = filepath.Join(filepath.Dir(program), SmallName)
	if info, err := os.Stat(path); filepath.Base(program) != "sm" || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, ProgramPatience)
	defer cancel()
	if Ask(ctx, environ, path, "version") != version {
		return "", path
	}
	return path, ""
}
