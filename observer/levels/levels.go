// Package levels keeps a file for each agent with the level of its context, for scripts: LEVEL:PERCENT:TOKENS, or LEVEL::
// while the size is unknown.
//
// Invariants: a reader sees the old line or the new one, never a part; no two agents share a file, and none lies outside
// the folder. The files are a picture of the state: they are not synced, and are written anew after a start.
//
// An agent has two files in turn where the system allows that: one that is read, and one in a folder beside it that the
// next line is written to. To make and remove a file for each line costs ten times as much on ext4.
package levels

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sm/alerts"
)

// maxName bounds the name of a level file: systems take 255 bytes.
const maxName = 200

// Name is the name of an agent's level file: a file name whatever the agent is called. It never begins with a dot, and no
// other agent has it.
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

// Line is the line of a level file.
func Line(s alerts.SetLevel) string {
	if s.Known {
		return fmt.Sprintf("%s:%d:%d", s.Level, s.Percent, s.Tokens)
	}
	return s.Level.String() + "::"
}

// Changes are level files that are to be written: of each agent the newest level alone. The zero value has none.
type Changes struct {
	files map[string]*alerts.SetLevel // by agent; nil for one whose file is to be removed
	known map[string]bool             // names: the files of all others are removed first; nil for none
}

// Set gives an agent a level.
func (c *Changes) Set(s alerts.SetLevel) { c.put(string(s.Agent), &s) }

// Remove takes an agent's file away.
func (c *Changes) Remove(agent string) { c.put(agent, nil) }

func (c *Changes) put(agent string, s *alerts.SetLevel) {
	if c.files == nil {
		c.files = map[string]*alerts.SetLevel{}
	}
	c.files[agent] = s
}

// Keep removes all files but those with these names, before any is written.
func (c *Changes) Keep(known map[string]bool) { c.known = known }

// Take hands the changes over, if there are any, and leaves none.
func (c *Changes) Take(to func(*Changes)) {
	if taken := *c; len(c.files) > 0 || c.known != nil {
		*c = Changes{}
		to(&taken)
	}
}

// Write writes the files in the folder dir; failed is called for each that cannot be written.
func (c *Changes) Write(dir string, failed func(agent string, err error)) {
	if c.known != nil {
		Keep(dir, c.known)
	}
	for agent, s := range c.files {
		line := ""
		if s != nil {
			line = Line(*s)
		}
		if err := Write(dir, agent, line); err != nil {
			failed(agent, err)
		}
	}
}

// Write replaces the level file of an agent in the folder dir, which it makes if there is none. Without a line it removes
// the file. Beside dir, in a folder with .next at the end of its name, stands what was there before: see [Clean].
func Write(dir, agent, line string) error {
	name := Name(agent)
	path, fresh := filepath.Join(dir, name), filepath.Join(next(dir), name)
	if line == "" {
		_, _ = os.Remove(path), os.Remove(fresh) // there may be none
		return nil
	}
	err := write(fresh, line+"\n")
	if errors.Is(err, fs.ErrNotExist) {
		if err = errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(next(dir), 0o700)); err == nil {
			err = write(fresh, line+"\n")
		}
	}
	if err == nil {
		err = replace(path, fresh)
		if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(dir, 0o700) == nil { // somebody has removed it
			err = replace(path, fresh)
		}
	}
	if errors.Is(err, syscall.EXDEV) { // the folder is a link or a mount, and leads to another file system
		fresh = filepath.Join(dir, "."+name)
		if err = write(fresh, line+"\n"); err == nil {
			err = syscall.Rename(fresh, path)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// write writes a short text to a file: over the existing one if no other process has
// it open, else to a new one. os.File would need more system calls.
func write(path, text string) error {
	fd, size, err := reopen(path)
	if err != nil {
		_ = syscall.Unlink(path) // somebody may still read it
		fd, err = open(path, syscall.O_CREAT|syscall.O_EXCL)
	}
	if err != nil {
		return err
	}
	n, err := syscall.Write(fd, []byte(text))
	for err == syscall.EINTR {
		n, err = syscall.Write(fd, []byte(text))
	}
	switch {
	case err != nil:
	case n < len(text):
		err = io.ErrShortWrite
	case size > int64(n):
		err = syscall.Ftruncate(fd, int64(n))
	}
	return errors.Join(err, syscall.Close(fd))
}

// open opens a file for writing, and follows no link.
func open(path string, flags int) (fd int, err error) {
	for err = syscall.EINTR; err == syscall.EINTR; {
		fd, err = syscall.Open(path, syscall.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC|flags, 0o600)
	}
	return fd, err
}

// next is the folder of the files that the next lines are written to.
func next(dir string) string { return dir + ".next" }

// Clean removes what was kept beside the folder dir to be written over.
func Clean(dir string) { _ = os.RemoveAll(next(dir)) }

// Keep removes all files of the folder dir but those with these names, and what a killed observer has left beside it.
func Keep(dir string, names map[string]bool) {
	Clean(dir)
	list, _ := os.ReadDir(dir) // there may be none
	for _, e := range list {
		if !names[e.Name()] {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
