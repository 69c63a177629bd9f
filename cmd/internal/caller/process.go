package caller

import (
	"bytes"
	"strconv"
	"time"

	"sm/handoff/proc"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// OfProcess returns the origin that hooks of a client's process would have, from
// the environment with which the process was started; the zero value if the
// system does not show it.
func OfProcess(pid int) hook.Origin {
	vars, err := proc.Read("/proc", pid, "environ")
	if err != nil || len(vars) > maxRegistryBytes {
		return hook.Origin{}
	}
	env := map[string]string{}
	for v := range bytes.SplitSeq(vars, []byte{0}) {
		if name, value, ok := bytes.Cut(v, []byte("=")); ok {
			env[string(name)] = string(value)
		}
	}
	env["CLAUDE_PID"] = strconv.Itoa(pid)
	env["CLAUDE_PROJECT_DIR"] = "" // of a client that has started this one
	by := Caller{
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}
	o := by.origin(time.Now(), "/proc", pid, proc.Lineage("/proc", pid))
	o.AutoCompact = hook.AutoCompact{}
	return o
}

// Holder says by which process a file is locked, for all that locks knows.
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
// terminal. A server of Codex may run on a terminal too, and is not.
func ownTerminal(p proc.Process, procDir string) bool {
	return p.Start != "" && p.Terminal != 0 && !isServer(p.PID, procDir)
}
