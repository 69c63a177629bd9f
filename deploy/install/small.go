package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// SmallName is the name of the small program: it does what `sm hook` and `sm statusline` do, with the same arguments, and
// starts faster.
const SmallName = "sm-hook"

// Small finds the small program that stands beside program, an sm that says this version of itself. There is none, "", where
// program has another name: what hooks tell agents to call is sm. One that says another version is not to be used, and then
// stale is its path: it belongs to another sm. Of one that does not answer in time nobody knows, which is an error.
func Small(ctx context.Context, program, version string, environ []string) (path, stale string, err error) {
	path = filepath.Join(filepath.Dir(program), SmallName)
	if info, err := os.Stat(path); filepath.Base(program) != "sm" || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", "", nil
	}
	switch says, err := SmallVersion(ctx, path, environ); {
	case err != nil:
		return "", "", err
	case says != version:
		return "", path, nil
	}
	return path, "", nil
}

// SmallVersion asks a small program for its version, "" where it says none.
func SmallVersion(ctx context.Context, path string, environ []string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ProgramPatience)
	defer cancel()
	if version = Ask(ctx, environ, path, "version"); version == "" && ctx.Err() != nil {
		return "", fmt.Errorf("%s does not say its version: %w; try again, or put another one there, say with make install", path, ctx.Err())
	}
	return version, nil
}
