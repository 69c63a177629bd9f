package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// SmallName is the name of the small program: it does what `sm hook` and `sm
// statusline` do, with the same arguments, and starts faster.
const SmallName = "sm-hook"

// Small returns the small program beside program, an sm of this version. path is ""
// if there is none, or if program has another name: hooks advise agents to call sm.
// One of another version belongs to another sm; its path is stale. It is an error if
// the version is not printed in time.
func Small(ctx context.Context, program, version string, environ []string) (path, stale string, err error) {
	path = filepath.Join(filepath.Dir(program), SmallName)
	info, err := os.Stat(path)
	if filepath.Base(program) != "sm" || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", "", nil
	}
	switch printed, err := SmallVersion(ctx, path, environ); {
	case err != nil:
		return "", "", err
	case printed != version:
		return "", path, nil
	}
	return path, "", nil
}

// SmallVersion runs a small program for its version, "" if it prints none.
func SmallVersion(ctx context.Context, path string, environ []string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ProgramPatience)
	defer cancel()
	if version = Ask(ctx, environ, path, "version"); version == "" && ctx.Err() != nil {
		return "", fmt.Errorf(
			"%s prints no version: %w; try again, or replace it, for example with make install",
			path,
			ctx.Err(),
		)
	}
	return version, nil
}
