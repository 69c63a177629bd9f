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
	// tempFile and tempFolder begin the names of what is to replace a file or the plugin's folder. The process that
	// makes one follows, and when that began.
	tempFile, tempFolder = ".settings.json.sm-", ".plugin-"
	// abandoned is how old a temporary name without a process must be to count as left behind.
	abandoned = time.Hour
)

// tempPattern is the pattern of a name that is this process's own.
func tempPattern(prefix string) string {
	p, _ := proc.Stat("/proc", os.Getpid()) // not everywhere; then the pid alone tells
	return fmt.Sprintf("%s%d-%s-*", prefix, os.Getpid(), p.Start)
}

// writeWhole replaces a file, or leaves it as it is: it is never half written, and a power failure leaves the old or the
// new one. Right before that unchanged may still refuse.
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

// sweep removes from a folder what runs of sm that were killed have left there: names that begin with the prefix, of
// this user, and of no process that still runs.
func sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir) // without it there is nothing to sweep
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		info, err := e.Info()
		if !ours || err != nil || ownerOf(info) != os.Geteuid() || e.IsDir() != (prefix == tempFolder) || !e.IsDir() && !e.Type().IsRegular() {
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
