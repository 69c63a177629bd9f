package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sm/cmd/internal/places"
)

// resolvePaths expands ~ in every path and in the program of operator.notify,
// and makes paths of flags absolute. It keeps a relative path of the file or
// the environment, which check refuses: its meaning would depend on the
// directory of the process.
func (c *Config) resolvePaths(env Env, place func(path string) string) error {
	for _, key := range c.settings() {
		for _, s := range key.values() {
			if s.tag.Get("is") != "path" && s.path != "operator.notify[0]" {
				continue
			}
			path, err := env.ExpandHome(s.value.String())
			origin := place(s.path)
			switch {
			case err != nil:
				return fmt.Errorf("%s%s: %w", origin, s.path, err)
			case path == "":
			case filepath.IsAbs(path):
				path = filepath.Clean(path)
			case strings.HasPrefix(origin, "--"):
				if path, err = filepath.Abs(path); err != nil {
					return fmt.Errorf("%s%w; give an absolute path", origin, err)
				}
			}
			s.value.SetString(path)
		}
	}
	return nil
}

// Env looks up an environment variable, as os.LookupEnv does, and returns the
// places that the variables name.
type Env = places.Env

// SocketPaths returns the possible places of the observer's socket, the best
// first; see [places.Env.SocketPaths].
func (c *Config) SocketPaths(env Env) ([]string, error) {
	return env.SocketPaths(c.Socket, c.State)
}

// ServerSocket returns the first of SocketPaths that an observer can create:
// the runtime directory may be read-only. Nothing is created.
func (c *Config) ServerSocket(env Env) (string, error) {
	paths, err := c.SocketPaths(env)
	if err != nil {
		return "", err
	}
	last := len(paths) - 1
	for _, path := range paths[:last] {
		if unix.Access(filepath.Dir(filepath.Dir(path)), unix.W_OK|unix.X_OK) == nil {
			return path, nil
		}
	}
	return paths[last], nil
}

// ProjectDirs returns the directories with transcripts: the configured ones,
// else those below CLAUDE_CONFIG_DIR, else those in the client's two homes.
// They need not exist.
func (c *Config) ProjectDirs(env Env) ([]string, error) {
	if len(c.Projects) > 0 {
		return c.Projects, nil
	}
	dirs, err := env.ClaudeDirs()
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		home, err := env.Home()
		if err != nil {
			return nil, fmt.Errorf("find the projects: %w, or give --projects", err)
		}
		dirs = []string{filepath.Join(home, ".claude"), filepath.Join(home, ".config", "claude")}
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Join(dir, "projects")
	}
	return dirs, nil
}
