package install

import (
	"strconv"
	"strings"

	"sm/transcript/claude/hook"
)

// Versions at which clients changed. `make versions` tries the real clients on both
// sides of each.
const (
	// OldestClient is the oldest version of Claude Code in which all hooks, the status
	// line and a handoff work. Before 2.1.76 an unknown event is an error dialog,
	// before 2.0.77 the client silently ignores the whole file.
	OldestClient = "2.1.120"
	// OldestCodex is the oldest version of Codex that runs hooks: before it the
	// feature codex_hooks is missing, or under development and off.
	OldestCodex = "0.124.0"
	// ArgsClient is the first version of Claude Code that runs a hook without a shell.
	// Older ones ignore "args" and run the bare command.
	ArgsClient = "2.1.139"
)

// HookEvents returns the events that the observer uses and that Claude Code of this
// version has; "" is a current version. The last one is for the guard.
func HookEvents(version string, guard bool) []hook.Event {
	events := []hook.Event{
		hook.SessionStart,
		hook.SessionEnd,
		hook.UserPromptSubmit,
		hook.PostToolUse,
		hook.Stop,
		hook.PreCompact,
	}
	if version == "" || !Older(version, "2.1.76") {
		events = append(events, hook.PostCompact)
	}
	events = append(events, hook.Notification)
	if guard {
		events = append(events, hook.PreToolUse)
	}
	return events
}

// TakesArgs reports whether Claude Code of this version runs hooks without a shell;
// "" is a current version.
func TakesArgs(version string) bool { return version == "" || !Older(version, ArgsClient) }

// Older compares versions such as 2.1.197. An invalid one is older than any.
func Older(version, than string) bool {
	var numbers []int
	for part := range strings.SplitSeq(than, ".") {
		n, _ := strconv.Atoi(part) // it is valid
		numbers = append(numbers, n)
	}
	return !hook.AtLeast(version, numbers...)
}
