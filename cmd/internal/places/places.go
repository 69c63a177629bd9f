// Package places finds directories, the observer's socket and the settings of
// the clients, by the variables of the environment.
//
// Invariants: a relative path in a variable is ignored if the specification of
// the variable requires that; the socket is only in directories where no other
// user can create one. Nothing is created.
//
// It does not read sm's configuration, and it loads fast: clients start
// programs that import it on every turn.
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

// SocketName is the name of the socket in a directory of sm.
const SocketName = "sm.sock"

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Get returns the value of a variable, "" if it is not set.
func (env Env) Get(name string) string {
	value, _ := env(name)
	return value
}

// Home returns the home directory, which is the base of every default path
// except XDG_RUNTIME_DIR.
func (env Env) Home() (string, error) {
	if home := env.Get("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	return "", fmt.Errorf("no home directory; set HOME to an absolute path")
}

// XDGDir returns the directory in an XDG variable, else the fallback below the
// home directory. A relative value is ignored, as the XDG specification
// requires.
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

// CodexHome returns the directory with all files of Codex.
func (env Env) CodexHome() (string, error) { return env.XDGDir("CODEX_HOME", ".codex") }

// CodexDirs returns the directories of Codex's transcripts, by date and
// archived: in CODEX_HOME, else in ~/.codex. Without a home directory it
// returns none.
func (env Env) CodexDirs() []string {
	home, err := env.CodexHome()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, "sessions"), filepath.Join(home, "archived_sessions")}
}

// WatchedCodexDirs returns CodexDirs. If the user has named the folders to
// watch, it returns them only if CODEX_HOME is set.
func (env Env) WatchedCodexDirs(named bool) []string {
	if named && !filepath.IsAbs(env.Get("CODEX_HOME")) {
		return nil
	}
	return env.CodexDirs()
}

// ClaudeDirs returns the directories in CLAUDE_CONFIG_DIR, which may be
// several, separated by commas.
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

// ClaudeSettings returns the path of the user's settings file of Claude Code.
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

// ExpandHome replaces a leading ~ by the home directory. It keeps the homes of
// other users (~name) as they are.
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

// SocketPaths returns the possible places of the observer's socket, the best
// first. The observer and all its clients use it. A client tries all of them,
// as XDG_RUNTIME_DIR may be set only for the observer, or only for the client.
// configured and stateDir are the configured socket and state directory, "" for
// the defaults.
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

// runtimeDir returns the directory in XDG_RUNTIME_DIR, with links resolved so
// that it is the checked one. ok reports whether it belongs to this user and is
// closed to others, as the XDG specification requires. After su or sudo it
// belongs to another user, who could put a socket there.
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
