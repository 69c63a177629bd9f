package install

import (
	"strconv"
	"strings"

	"sm/transcript/claude/hook"
)

// The versions of the client that sm install goes by. Each was tried with the real client: `make versions` installs the
// versions on both sides of these lines and looks at what they do.
const (
	// OldestClient is the oldest version that sm install writes settings for. All hooks, the status line and a handoff
	// work from there on. Clients before 2.1.76 show an error dialog at an event that they do not know, clients before
	// 2.0.77 drop the whole settings file without a word.
	OldestClient = "2.1.120"
	// OldestCodex is the oldest version of Codex that runs hooks: before it the feature codex_hooks is missing, or
	// under development and off.
	OldestCodex = "0.124.0"
	// ArgsClient is the first version that runs a hook without a shell. Older ones ignore "args" and run the bare
	// command.
	ArgsClient = "2.1.139"
)

// A knownEvent is an event that sm install writes a hook for, and the version since which clients know it.
type knownEvent struct {
	event hook.Event
	since string
	guard bool // only where the guard is wanted
}

// knownEvents is the table of versions and events. Those of 2.0.77 are older than that: it is the oldest version tried
// that accepts them.
func knownEvents() []knownEvent {
	return []knownEvent{
		{event: hook.SessionStart, since: "2.0.77"},
		{event: hook.SessionEnd, since: "2.0.77"},
		{event: hook.UserPromptSubmit, since: "2.0.77"},
		{event: hook.PostToolUse, since: "2.0.77"},
		{event: hook.Stop, since: "2.0.77"},
		{event: hook.PreCompact, since: "2.0.77"},
		{event: hook.PostCompact, since: "2.1.76"},
		{event: hook.Notification, since: "2.0.77"},
		{event: hook.PreToolUse, since: "2.0.77", guard: true},
	}
}

// HookEvents are the events that the observer learns from, and that a client of this version knows: all of them where
// the version is unknown, "".
func HookEvents(version string, guard bool) (events []hook.Event) {
	for _, k := range knownEvents() {
		if (guard || !k.guard) && knownSince(version, k.since) {
			events = append(events, k.event)
		}
	}
	return events
}

// TakesArgs says whether a client of this version runs hooks without a shell. An unknown version, "", does.
func TakesArgs(version string) bool { return knownSince(version, ArgsClient) }

func knownSince(version, since string) bool {
	return version == "" || !Older(version, since)
}

// Older compares versions such as 2.1.197. One that cannot be read is older than any.
func Older(version, than string) bool {
	var numbers []int
	for part := range strings.SplitSeq(than, ".") {
		n, _ := strconv.Atoi(part) // it can be read
		numbers = append(numbers, n)
	}
	return !hook.AtLeast(version, numbers...)
}
