// Package levels writes a file for each agent with the level of its context, for
// scripts: LEVEL:PERCENT:TOKENS, or LEVEL:: while the size is unknown.
//
// A reader reads the old line or the new one, never a part. No two agents share
// a file, and no file is outside the folder. The files are derived from the
// state: they are not synced, and are written again after a start.
//
// On Linux an agent has two files that are exchanged: the one that is read, and
// a hidden one for the next line. Creating and removing a file for each line
// takes far longer on ext4.
package levels

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sm/alerts"
)

// maxName limits the name of a level file, in bytes: systems allow 255.
const maxName = 200

// Name returns the name of an agent's level file: a valid file name for any id.
// It never begins with a dot, and is different for each agent.
func Name(agent string) string {
	name := url.PathEscape(agent)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if len(name) > maxName {
		h := fnv.New64a()
		_, _ = io.WriteString(h, agent) // never fails
		name = fmt.Sprintf("%s-%016x", name[:maxName-17], h.Sum64())
	}
	return name
}

// Line returns the line for a level file.
func Line(v *alerts.View) string {
	if v.Known {
		return fmt.Sprintf("%s:%d:%d", v.Level, v.Percent, v.Tokens)
	}
	return v.Level.String() + "::"
}

// Write replaces the level files of agents in the folder dir, which it creates
// if necessary. An empty line removes a file; with all, the files of all other
// agents are removed, too.
func Write(dir string, lines map[string]string, all bool, log *slog.Logger) {
	if all {
		known := map[string]bool{}
		for agent := range lines {
			known[Name(agent)] = true
		}
		list, _ := os.ReadDir(dir) // the folder may be missing
		for _, e := range list {
			if !known[strings.TrimPrefix(e.Name(), ".")] {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	for agent, line := range lines {
		if err := write(dir, Name(agent), line); err != nil {
			log.Warn("cannot write a level file", "agent", agent, "err", err)
		}
	}
}

func write(dir, name, line string) error {
	path := filepath.Join(dir, name)
	fresh := filepath.Join(dir, "."+name)
	if line == "" {
		_ = os.Remove(path)
		_ = os.Remove(fresh)
		return nil
	}
	text := []byte(line + "\n")
	fd, err := reopen(fresh)
	if err != nil {
		_ = os.Remove(fresh) // a program may still read it
		if err = os.MkdirAll(dir, 0o700); err == nil {
			fd, err = unix.Open(fresh, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		}
	}
	if err == nil { // an os.File needs more system calls
		_, err = unix.Write(fd, text)
		err = errors.Join(err, unix.Ftruncate(fd, int64(len(text))), unix.Close(fd))
	}
	if err == nil {
		err = replace(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
