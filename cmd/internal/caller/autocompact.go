package caller

import (
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// maxFile bounds what is read of a file of the client, and of a process's environment.
const maxFile = 1 << 20

// autoCompact reads the client's settings for automatic compaction: its
// environment, then the user's settings, and the machine's last.
func (by *Caller) autoCompact(project string) (a hook.AutoCompact) {
	var paths []string
	if path, err := by.ClaudeSettings(); err == nil {
		paths = append(paths, path)
	}
	if filepath.IsAbs(project) {
		paths = append(
			paths,
			filepath.Join(project, ".claude", "settings.json"),
			filepath.Join(project, ".claude", "settings.local.json"),
		)
	}
	for _, path := range append(paths, ManagedSettings()) {
		a.AddSettings(readFile(path))
	}
	hook.SetVariable(&a.Window, by.Get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"))
	hook.SetVariable(&a.Percent, by.Get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
	hook.SetVariable(&a.Output, by.Get("CLAUDE_CODE_MAX_OUTPUT_TOKENS"))
	hook.SetVariable(&a.IdleMin, by.Get("CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"))
	a.Off = a.Off || isOn(by.Get("DISABLE_AUTO_COMPACT")) || isOn(by.Get("DISABLE_COMPACT"))
	return a
}

// isOn reads a variable as the client reads it.
func isOn(value string) bool {
	return slices.Contains(
		[]string{"1", "true", "yes", "on"},
		strings.ToLower(strings.TrimSpace(value)),
	)
}

// readFile is nil for what is no file, too large or not to be read: a hook
// must not wait for a pipe.
func readFile(path string) []byte {
	f, info, err := files.OpenRegular(path, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxFile)) // JSON that is cut is none
	return data
}

// ManagedSettings is the settings file of the machine's administrator.
func ManagedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}
