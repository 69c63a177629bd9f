// Package levels keeps a file for each agent with the level of its context, for scripts: LEVEL:PERCENT:TOKENS, or LEVEL::
// while the size is unknown.
//
// Invariants: a reader sees the old line or the new one, never a part; no two agents share a file, and none lies outside
// the folder. The files are a picture of the state: they are not synced, and are written anew after a start.
package levels

import (
	"fmt"
	"hash/fnv"
	"io"
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

// Write replaces the level file of an agent in the folder dir, which it makes if there is none. Without a line it removes
// the file.
func Write(dir, agent, line string) error {
	name := Name(agent)
	path, fresh := filepath.Join(dir, name), filepath.Join(dir, "."+name)
	if line == "" {
		_ = os.Remove(path) // there may be none
		return nil
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(fresh, []byte(line+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("write a level file: %w", err)
	}
	return nil
}

// Keep removes all files of the folder dir but those with these names.
func Keep(dir string, names map[string]bool) {
	list, _ := os.ReadDir(dir) // there may be none
	for _, e := range list {
		if !names[e.Name()] {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
