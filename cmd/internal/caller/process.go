package caller

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sm/handoff/proc"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// OfProcess returns the origin that hooks of a client's process would have, from
// the environment with which the process was started; the zero value if the
// system does not show it.
func OfProcess(pid int) hook.Origin {
	env := variables(pid)
	if env == nil {
		return hook.Origin{}
	}
	env["CLAUDE_PID"] = strconv.Itoa(pid)
	env["CLAUDE_PROJECT_DIR"] = "" // may be that of a client that started this one
	by := Caller{
		Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}
	o := by.origin(time.Now(), "/proc", pid)
	o.Project, _ = os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	o.AutoCompact = hook.AutoCompact{}
	return o
}

// variables returns the variables with which a process was started, nil if the
// system does not show them.
func variables(pid int) map[string]string {
	text, err := proc.Read("/proc", pid, "environ")
	if err != nil {
		return nil
	}
	vars := map[string]string{}
	for v := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	return vars
}

// Holder returns a function that finds the process that locks a file.
func Holder(locks *proc.Locks) func(path string) (transcript.Holder, bool) {
	return func(path string) (transcript.Holder, bool) {
		p, held := locks.Holder(path)
		return transcript.Holder{
			PID:   p.PID,
			Start: p.Start,
			Own:   ownTerminal(p, "/proc"),
		}, held
	}
}

// ownTerminal reports whether a process is a client that one user runs on a
// terminal. A server of Codex is not, even on a terminal.
func ownTerminal(p proc.Process, procDir string) bool {
	return p.Start != "" && p.Terminal != 0 && !isServer(p.PID, procDir)
}
