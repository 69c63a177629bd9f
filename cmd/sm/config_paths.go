package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const socketName = "sm.sock"

// home is the home directory, which every default path but XDG_RUNTIME_DIR starts from.
func (env *environ) home() (string, error) {
	if home, _ := env.lookupEnv("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	return "", fmt.Errorf("no home directory; set HOME to an absolute path")
}

// xdgDir is the directory in an XDG variable, else the one below home. A relative value is ignored, as the XDG
// specification asks.
func (env *environ) xdgDir(variable, fallback string) (string, error) {
	if dir, _ := env.lookupEnv(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	home, err := env.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, fallback), nil
}

// expandHome replaces a leading ~ as a shell would; other users' homes (~name) are left as they are.
func (env *environ) expandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := env.home()
	if err != nil {
		return "", fmt.Errorf("expand %s: %w", quote(path), err)
	}
	return filepath.Join(home, path[1:]), nil
}

// A pathSetting is a setting that names a file or directory.
type pathSetting struct {
	key      string
	value    *string
	optional bool // empty means the default, or none
}

func (c *config) paths() []pathSetting {
	var all []pathSetting
	for i := range c.Projects {
		all = append(all, pathSetting{fmt.Sprintf("projects[%d]", i), &c.Projects[i], false})
	}
	all = append(all,
		pathSetting{"socket", &c.Socket, true},
		pathSetting{"state", &c.State, true},
		pathSetting{"http.webhook_token_file", &c.HTTP.WebhookTokenFile, true},
		pathSetting{"metrics.web_config_file", &c.Metrics.WebConfigFile, true},
		pathSetting{"handoff.directory", &c.Handoff.Directory, true})
	for i := range c.Channels {
		all = append(all, pathSetting{fmt.Sprintf("channels[%d].path", i), &c.Channels[i].Path, false})
	}
	return all
}

// resolvePaths expands ~ in every path and makes those given as flags absolute. A relative path in the file or
// the environment stays and is refused later: what it is relative to depends on who starts the process.
func (c *config) resolvePaths(env *environ, from origins) error {
	var err error
	for _, p := range c.paths() {
		origin := from.of(p.key)
		if *p.value, err = env.expandHome(*p.value); err != nil {
			return fmt.Errorf("%s: %s: %w", origin, p.key, err)
		}
		switch {
		case *p.value == "":
		case filepath.IsAbs(*p.value):
			*p.value = filepath.Clean(*p.value)
		case strings.HasPrefix(origin, "--"):
			if *p.value, err = filepath.Abs(*p.value); err != nil {
				return fmt.Errorf("%s: %w; give an absolute path", origin, err)
			}
		}
	}
	if len(c.Operator.Notify) > 0 {
		if c.Operator.Notify[0], err = env.expandHome(c.Operator.Notify[0]); err != nil {
			return fmt.Errorf("operator.notify: %w", err)
		}
	}
	return nil
}

// stateDir is where the observer keeps its state.
func stateDir(c *config, env *environ) (string, error) {
	if c.State != "" {
		return c.State, nil
	}
	dir, err := env.xdgDir("XDG_STATE_HOME", filepath.Join(".local", "state"))
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	return filepath.Join(dir, "sm"), nil
}

// socketPaths are the places of the observer's socket, best first. A client tries them all: the observer may run
// where XDG_RUNTIME_DIR is set and the client where it is not, or the other way round.
func socketPaths(c *config, env *environ) ([]string, error) {
	if c.Socket != "" {
		return []string{c.Socket}, nil
	}
	var paths []string
	if dir, _ := env.lookupEnv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, "sm", socketName))
	}
	state, err := stateDir(c, env)
	if err != nil {
		if len(paths) > 0 {
			return paths, nil
		}
		return nil, fmt.Errorf("find the socket: %w, or give --socket", err)
	}
	return append(paths, filepath.Join(state, "run", socketName)), nil
}

// serverSocket is the first of socketPaths that an observer can serve: the runtime directory counts only when it
// is there, ours and writable, which after su or sudo it is not. Nothing is created.
func serverSocket(c *config, env *environ) (string, error) {
	paths, err := socketPaths(c, env)
	if err != nil {
		return "", err
	}
	for _, path := range paths[:len(paths)-1] {
		if len(path) <= maxSocketPath && usableDir(filepath.Dir(filepath.Dir(path))) {
			return path, nil
		}
	}
	last := paths[len(paths)-1]
	if n := len(last); n > maxSocketPath {
		return "", fmt.Errorf("%s is %d bytes long and a socket's path has room for %d; give a shorter one with --socket",
			last, n, maxSocketPath)
	}
	return last, nil
}

func usableDir(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
}

// projectDirs are the directories that hold transcripts: the configured ones, else those below
// CLAUDE_CONFIG_DIR, which may name several separated by commas, else the client's two homes. They need not exist.
func projectDirs(c *config, env *environ) ([]string, error) {
	if len(c.Projects) > 0 {
		return c.Projects, nil
	}
	var dirs []string
	list, _ := env.lookupEnv("CLAUDE_CONFIG_DIR")
	for dir := range strings.SplitSeq(list, ",") {
		if dir = strings.TrimSpace(dir); dir == "" {
			continue
		}
		dir, err := env.expandHome(dir)
		if err != nil {
			return nil, fmt.Errorf("CLAUDE_CONFIG_DIR: %w", err)
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("CLAUDE_CONFIG_DIR: %w; write an absolute path", err)
		}
		dirs = append(dirs, filepath.Join(dir, "projects"))
	}
	if len(dirs) > 0 {
		return dirs, nil
	}
	home, err := env.home()
	if err != nil {
		return nil, fmt.Errorf("find the projects: %w, or give --projects", err)
	}
	return []string{
		filepath.Join(home, ".claude", "projects"),
		filepath.Join(home, ".config", "claude", "projects"),
	}, nil
}
