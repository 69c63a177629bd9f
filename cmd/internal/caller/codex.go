package caller

import (
	"bytes"
	"iter"
	"os"
	"strings"
	"time"

	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// CodexOrigin is Origin for a hook of Codex. Its hooks may be children of a server that all of its screens share: then that
// process is nobody's own, and its variables are those of the pane which happened to start it. A subagent shares process and
// variables with its root thread, so that neither tells anything of it.
func (by *Caller) CodexOrigin(at time.Time, subagent bool) hook.Origin {
	return by.codexOrigin(at, subagent, "/proc", os.Getppid())
}

func (by *Caller) codexOrigin(at time.Time, subagent bool, procDir string, parent int) hook.Origin {
	o, line := hook.Origin{}, proc.Lineage(procDir, parent)
	pid := proc.ClientPID("", parent, line)
	p, err := process(pid, procDir, line)
	if err == nil && !subagent && !isServer(pid, procDir) {
		o = by.origin(at, procDir, parent, line)
		o.Project, o.AutoCompact = "", hook.AutoCompact{} // they are what Claude Code was told
		if !strings.HasPrefix(o.Provider, "codex") {
			o.Provider = ""
		}
		o.PID, o.Start = pid, p.Start
	}
	o.Client, o.At = "codex", at.UTC()
	return o
}

// served says whether a line of processes comes from a server of Codex. A shell is none, though it may have started one.
func served(procDir string, line iter.Seq[proc.Process]) bool {
	for p := range line {
		if !p.Shell() && isServer(p.PID, procDir) {
			return true
		}
	}
	return false
}

// isServer says whether a process is Codex's server, by its arguments. One whose arguments cannot be read counts as one.
func isServer(pid int, procDir string) bool {
	text, err := proc.Read(procDir, pid, "cmdline")
	for arg := range bytes.SplitSeq(text, []byte{0}) {
		if string(arg) == "app-server" || string(arg) == "mcp-server" {
			return true
		}
	}
	return err != nil
}
