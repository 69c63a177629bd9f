package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sm/observer/api"
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

// socketPaths are the places of the observer's socket, best first: the one function that finds it, for the observer
// and for all that ask it. A client tries them all: the observer may run where XDG_RUNTIME_DIR is set and the client
// where it is not, or the other way round.
func socketPaths(c *config, env *environ) ([]string, error) {
	if c.Socket != "" {
		return []string{c.Socket}, nil
	}
	var paths []string
	if dir, ok := env.runtimeDir(); ok {
		if path := filepath.Join(dir, "sm", socketName); len(path) <= api.MaxSocketPath {
			paths = append(paths, path)
		}
	}
	state, err := stateDir(c, env)
	if err != nil {
		err = fmt.Errorf("find the socket: %w, or give --socket", err)
	} else if path := filepath.Join(state, "run", socketName); len(path) > api.MaxSocketPath {
		err = fmt.Errorf("%s is %d bytes long and a socket's path has room for %d; give a shorter one with --socket",
			path, len(path), api.MaxSocketPath)
	} else {
		paths = append(paths, path)
	}
	if len(paths) > 0 {
		return paths, nil
	}
	return nil, err
}

// serverSocket is the first of socketPaths that an observer can serve: the runtime directory may be read-only. Nothing
// is created.
func serverSocket(c *config, env *environ) (string, error) {
	paths, err := socketPaths(c, env)
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

// maxLinks bounds the symbolic links on the way to a path, as the kernel does.
const maxLinks = 40

// runtimeDir is XDG_RUNTIME_DIR, if it is what the XDG specification promises: a directory of ours that nobody else
// may enter. After su or sudo it is another user's. Whoever can change what it leads to could put a socket of his own,
// or any other socket of ours, where we look for the observer's.
func (env *environ) runtimeDir() (dir string, ok bool) {
	dir, _ = env.lookupEnv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return "", false
	}
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedBy(info, os.Geteuid()) {
		return "", false
	}
	return dir, trustedLinks(dir)
}

// trustedLinks says whether every symbolic link that an absolute path leads through is ours or root's.
func trustedLinks(path string) bool {
	at, rest, links := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		at = filepath.Join(at, name) // "" and . stay, and .. is right: nothing before it is a link
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(at)
		if links++; err != nil || links > maxLinks || !ownedBy(info, os.Geteuid(), 0) {
			return false
		}
		at = filepath.Dir(at)
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return true
}

func ownedBy(info fs.FileInfo, uids ...int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(uids, int(stat.Uid))
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
