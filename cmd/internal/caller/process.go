package caller

import (
	"bytes"
	"strconv"
	"time"

	"sm/handoff/proc"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// OfProcess is the origin that the hooks of a client's process would name, by the environment that the process was started
// with; the zero value where the system does not tell.
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
	env["CLAUDE_PID"], env["CLAUDE_PROJECT_DIR"] = strconv.Itoa(pid), "" // of a client that has started this one
	by := Caller{LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
	o := by.origin(time.Now(), "/proc", pid, proc.Lineage("/proc", pid))
	o.AutoCompact = hook.AutoCompact{}
	return o
}

// Holder says by which process a file is locked, for all that locks knows.
func Holder(locks *proc.Locks) func(path string) (transcript.Holder, bool) {
	return func(path string) (transcript.Holder, bool) {
		p, held := locks.Holder(path)
		return transcript.Holder{PID: p.PID, Start: p.Start, Own: ownTerminal(p, "/proc")}, held
	}
}

// ownTerminal says whether a process is the client of one user at a terminal. A server of Codex may have been started by
// hand at one, and is nobody's client all the same.
func ownTerminal(p proc.Process, procDir string) bool {
	return p.Start != "" && p.Terminal != 0 && !isServer(p.PID, procDir)
}
