// Package levels writes a file for each agent with the level of its context, for
// scripts: LEVEL:PERCENT:TOKENS, or LEVEL:: while the size is unknown.
//
// A reader sees the old line or the new one, never a part. No two agents share a
// file, and none is outside the folder. The files are derived from the state: they
// are not synced, and are written anew after a start.
package levels

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

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

// Changes are level files that are to be written, with the newest level of each
// agent. The zero value has none.
type Changes struct {
	lines map[string]string // by agent; "" for a file that is to be removed
	known map[string]bool   // names: the files of all others are removed first; nil for none
}

// Set gives an agent a level.
func (c *Changes) Set(s alerts.SetLevel) { c.put(string(s.Agent), Line(s)) }

// Remove takes an agent's file away.
func (c *Changes) Remove(agent string) { c.put(agent, "") }

func (c *Changes) put(agent, line string) {
	if c.lines == nil {
		c.lines = map[string]string{}
	}
	c.lines[agent] = line
}

// Keep removes all files but those with these names, before any is written.
func (c *Changes) Keep(known map[string]bool) { c.known = known }

// Empty reports whether there is nothing to write.
func (c *Changes) Empty() bool { return len(c.lines) == 0 && c.known == nil }

// Write writes the files in the folder dir.
func (c *Changes) Write(dir string, log *slog.Logger) {
	if c.known != nil {
		Keep(dir, c.known)
	}
	for agent, line := range c.lines {
		if err := Write(dir, agent, line); err != nil {
			log.Warn("cannot write a level file", "agent", agent, "err", err)
		}
	}
}

// Write replaces the level file of an agent in the folder dir, which it makes if
// necessary. An empty line removes the file.
func Write(dir, agent, line string) error {
	name := Name(agent)
	path := filepath.Join(dir, name)
	if line == "" {
		_ = os.Remove(path)
		return nil
	}

	fresh := filepath.Join(dir, "."+name)
	err := os.WriteFile(fresh, []byte(line+"\n"), 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = os.WriteFile(fresh, []byte(line+"\n"), 0o600)
		}
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Keep removes all files of the folder dir but those with these names.
func Keep(dir string, names map[string]bool) {
	_ = os.RemoveAll(dir + ".next") // of older versions
	list, _ := os.ReadDir(dir)      // the folder may be missing
	for _, e := range list {
		if !names[e.Name()] {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
