package caller

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// autoCompact returns the client's settings for automatic compaction. Its
// environment comes first, then the user's and the project's settings, and
// those of the machine.
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
		text, _ := files.ReadSmall(path) // it may not exist
		a.AddSettings(text)
	}
	hook.SetVariable(&a.Window, by.Get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"))
	hook.SetVariable(&a.Percent, by.Get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
	hook.SetVariable(&a.Output, by.Get("CLAUDE_CODE_MAX_OUTPUT_TOKENS"))
	hook.SetVariable(&a.IdleMin, by.Get("CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"))
	a.Off = a.Off || isOn(by.Get("DISABLE_AUTO_COMPACT")) || isOn(by.Get("DISABLE_COMPACT"))
	return a
}

// isOn parses the value of a variable in the same way as the client.
func isOn(value string) bool {
	return slices.Contains(
		[]string{"1", "true", "yes", "on"},
		strings.ToLower(strings.TrimSpace(value)),
	)
}

// ManagedSettings returns the path of the administrator's settings file.
func ManagedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}
