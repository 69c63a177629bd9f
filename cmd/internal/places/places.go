// Package places finds where things are on this machine: the folders and the
// observer's socket, by the variables of the environment, and the settings of
// the clients.
//
// Invariants: a relative path in a variable counts as none where that is the
// rule of the variable's owner; a socket is looked for only where no other user
// can put one. Nothing is created.
//
// It does not read sm's configuration, and loads in no time: what a client
// calls on every turn needs it.
package places

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/handoff/files"
	"sm/observer/socket"
)

// SocketName is what the socket is called in a folder of our own.
const SocketName = "sm.sock"

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Get is the value of a variable, "" for one that is not set.
func (env Env) Get(name string) string {
	value, _ := env(name)
	return value
}

// Home is the home directory, which every default path but XDG_RUNTIME_DIR starts from.
func (env Env) Home() (string, error) {
	if home := env.Get("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	return "", fmt.Errorf("no home directory; set HOME to an absolute path")
}

// XDGDir is the directory in an XDG variable, else the one below home. A
// relative value is ignored, as the XDG specification asks.
func (env Env) XDGDir(variable, fallback string) (string, error) {
	if dir := env.Get(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	home, err := env.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, fallback), nil
}

// CodexHome is the folder in which Codex keeps all that it keeps.
func (env Env) CodexHome() (string, error) { return env.XDGDir("CODEX_HOME", ".codex") }

// CodexDirs are the folders in which Codex keeps transcripts, by date and
// archived: in CODEX_HOME, else in ~/.codex. There are none without a home
// directory.
func (env Env) CodexDirs() []string {
	home, err := env.CodexHome()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, "sessions"), filepath.Join(home, "archived_sessions")}
}

// WatchedCodexDirs are CodexDirs; where the user has named the folders to
// watch, only those of a CODEX_HOME that is set.
func (env Env) WatchedCodexDirs(named bool) []string {
	if named && !filepath.IsAbs(env.Get("CODEX_HOME")) {
		return nil
	}
	return env.CodexDirs()
}

// ClaudeDirs are the directories in CLAUDE_CONFIG_DIR, which may name several separated by
// commas.
func (env Env) ClaudeDirs() (dirs []string, err error) {
	for dir := range strings.SplitSeq(env.Get("CLAUDE_CONFIG_DIR"), ",") {
		if dir = strings.TrimSpace(dir); dir == "" {
			continue
		}
		dir, err := env.ExpandHome(dir)
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("CLAUDE_CONFIG_DIR: %w; write an absolute path", err)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// ClaudeSettings is the user's settings file of Claude Code.
func (env Env) ClaudeSettings() (string, error) {
	dirs, err := env.ClaudeDirs()
	switch {
	case err != nil:
		return "", err
	case len(dirs) > 1:
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR names several directories; set it to the one with the settings")
	case len(dirs) == 1:
		return filepath.Join(dirs[0], "settings.json"), nil
	}
	home, err := env.Home()
	if err != nil {
		return "", fmt.Errorf("find the client's settings: %w", err)
	}
	return filepath.Join(home, ".claude", "settings.json"), nil
}

// ExpandHome replaces a leading ~ as a shell would; other users' homes (~name)
// are left as they are.
func (env Env) ExpandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := env.Home()
	if err != nil {
		return "", fmt.Errorf("expand %s: %w", plain.Quote(path), err)
	}
	return filepath.Join(home, path[1:]), nil
}

// StateDir returns the observer's state directory: the configured one, or the
// default for "".
func (env Env) StateDir(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	dir, err := env.XDGDir("XDG_STATE_HOME", filepath.Join(".local", "state"))
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	return filepath.Join(dir, "sm"), nil
}

// SocketPaths are the places of the observer's socket, best first: the one
// function that finds it, for the observer and for all that ask it. A client
// tries them all: the observer may run where XDG_RUNTIME_DIR is set and the
// client where it is not, or the other way round. Socket and state directory
// are the configured ones, "" for the defaults.
func (env Env) SocketPaths(configured, stateDir string) ([]string, error) {
	if configured != "" {
		return []string{configured}, nil
	}
	var paths []string
	if dir, ok := env.runtimeDir(); ok {
		if path := filepath.Join(dir, "sm", SocketName); len(path) <= socket.MaxPath {
			paths = append(paths, path)
		}
	}
	state, err := env.StateDir(stateDir)
	path := filepath.Join(state, "run", SocketName)
	switch {
	case err != nil:
		err = fmt.Errorf("find the socket: %w, or give --socket", err)
	case len(path) > socket.MaxPath:
		err = fmt.Errorf("%s is %d bytes long and a socket's path has room for %d; give a shorter one with --socket",
			path, len(path), socket.MaxPath)
	default:
		paths = append(paths, path)
	}
	if len(paths) > 0 {
		return paths, nil
	}
	return nil, err
}

// runtimeDir returns the directory that XDG_RUNTIME_DIR leads to if it belongs
// to this user and others cannot enter it, as the XDG specification requires.
// After su or sudo it belongs to another user, who could put a socket there.
// Links are resolved, so that the checked directory is the one in use.
func (env Env) runtimeDir() (dir string, ok bool) {
	dir = env.Get("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return "", false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(dir)
	ok = err == nil && info.IsDir() && info.Mode().Perm() == 0o700 && files.Own(info)
	return dir, ok
}
