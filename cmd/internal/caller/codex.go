package caller

import (
	"bytes"
	"strings"
	"time"

	"sm/handoff/proc"
	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
)

// CodexOrigin does what Origin does, for a hook of Codex with this parent. The
// parent may be a server that several screens share, whose variables are those
// of the pane that started it. A subagent shares the process and the variables
// of its root thread. In both cases they do not identify the thread.
func (by *Caller) CodexOrigin(
	at time.Time,
	subagent bool,
	procDir string,
	parent int,
) hook.Origin {
	o := hook.Origin{}
	pid := proc.ClientPID("", parent, proc.Lineage(procDir, parent))
	p, err := proc.Stat(procDir, pid)
	if err == nil && !subagent && !isServer(pid, procDir) {
		o = by.origin(at, procDir, parent)
		o.Project = ""
		o.AutoCompact = hook.AutoCompact{} // settings of Claude Code
		if !strings.HasPrefix(o.Provider, files.Client) {
			o.Provider = ""
		}
		o.PID = pid
		o.Start = p.Start
	}
	o.Client = files.Client
	o.At = at.UTC()
	return o
}

// isServer reports whether a process is Codex's server, by its arguments. A
// process whose arguments cannot be read counts as one.
func isServer(pid int, procDir string) bool {
	text, err := proc.Read(procDir, pid, "cmdline")
	for arg := range bytes.SplitSeq(text, []byte{0}) {
		if string(arg) == "app-server" || string(arg) == "mcp-server" {
			return true
		}
	}
	return err != nil
}
