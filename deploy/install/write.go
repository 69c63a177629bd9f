package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sm/handoff/proc"
)

const (
	// tempFile and tempFolder begin the names of files and folders that are to replace
	// others; the process that makes them and its start follow.
	tempFile   = ".settings.json.sm-"
	tempFolder = ".plugin-"
	// abandoned is the age at which a temporary file without a process is removed.
	abandoned = time.Hour
)

// tempPattern returns the pattern of this process's temporary names.
func tempPattern(prefix string) string {
	p, _ := proc.Stat("/proc", os.Getpid()) // without /proc there is the pid alone
	return fmt.Sprintf("%s%d-%s-*", prefix, os.Getpid(), p.Start)
}

// writeWhole replaces a file at once, also in a power failure. unchanged may still
// refuse right before; it may be nil.
func writeWhole(path string, text []byte, mode fs.FileMode, unchanged func() error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w; check its owner and mode", dir, PlainError(err))
	}
	temp, err := os.CreateTemp(dir, tempPattern(tempFile))
	if err != nil {
		return fmt.Errorf("write into %s: %w; check its owner, mode and free space", dir, PlainError(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return fmt.Errorf("write into %s: %w; free some space there", dir, PlainError(err))
	}
	if unchanged != nil {
		if err := unchanged(); err != nil {
			return err
		}
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("replace %s: %w; check its owner and mode", path, PlainError(err))
	}
	if err := syncDirectory(dir); err != nil {
		return fmt.Errorf("%s is written, but maybe not for good: %w; run it again", path, PlainError(err))
	}
	return nil
}

// sweep removes the temporary files or folders of runs of sm that were killed.
func sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir) // without it there is nothing to sweep
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		info, err := e.Info()
		if !ours || err != nil || ownerOf(info) != os.Geteuid() || e.IsDir() != (prefix == tempFolder) ||
			!e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		parts := strings.Split(rest, "-")
		pid, err := strconv.Atoi(parts[0])
		switch {
		case err != nil:
			continue
		case len(parts) == 1 && time.Since(info.ModTime()) < abandoned: // an older sm's name has no process
			continue
		case len(parts) == 3 && proc.Alive(pid, parts[1]):
			continue
		}
		_ = os.RemoveAll(filepath.Join(dir, e.Name())) // the next run tries again
	}
}
