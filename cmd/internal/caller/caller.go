// Package caller identifies the client that runs this process, by the
// environment that the client passes on and by the ancestors of the process.
//
// A session in a variable is not proof. An entry in the client's own registry
// is proof for a process that descends from the registered one. The package
// writes nothing and does not query the observer.
package caller

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"sm/cmd/internal/places"
	"sm/handoff/files"
	"sm/handoff/guard"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// A Caller identifies the client of a process by the variables of the process.
type Caller struct {
	places.Env
}

const (
	// SupervisorVariable names the process that owns the client and restarts it.
	SupervisorVariable = "CLAUDE_SUPERVISOR_PID"
	// GuardianCommand is the first argument of this program when it runs as the
	// guardian of sm run. It is not a command for users.
	GuardianCommand = "guardian"
)

// Client returns the client that runs this command: the child of its
// supervisor, or of the supervisor's guardian, else the process that the
// client's hooks report. The session comes from the client's own registry, else
// from a variable. proven is true only if it comes from the registry and this
// process descends from the client: other processes can have or set the same
// variables.
func (by *Caller) Client() (c guard.Client, proven bool) {
	session := by.Get("CLAUDE_CODE_SESSION_ID")
	o := by.Origin(time.Now())
	c = guard.ClientOf(session, &o)
	self := os.Getpid()
	if pid, ok := by.supervisorPID(); ok {
		child, ok := proc.ChildOf(pid, self, "/proc")
		if ok && IsGuardian(child) {
			child, ok = proc.ChildOf(child, self, "/proc")
		}
		if p, err := proc.Stat("/proc", child); ok && child != self && err == nil {
			c.PID = child
			c.Start = p.Start
		}
	}
	if !proc.Mounted() { // without /proc only the variable is left
		return c, session != ""
	}
	if id := SessionOf(c.PID, c.Start); id != "" {
		c.SessionID = id
		for p := range proc.Lineage("/proc", self) {
			proven = proven || p.PID == c.PID && p.Start == c.Start
		}
	}
	return c, proven
}

// IsGuardian reports whether a process is the guardian of sm run.
func IsGuardian(pid int) bool {
	text, err := proc.Read("/proc", pid, "cmdline")
	return err == nil && bytes.HasPrefix(text, []byte("sm\x00"+GuardianCommand+"\x00"))
}

// SessionOf returns the session of a client by its registry, "" if it is
// unknown. The registry is found by the environment that the client's process
// was started with, which none of its children can change.
func SessionOf(pid int, start string) (session string) {
	if pid <= 1 || start == "" {
		return ""
	}
	vars := variables(pid)
	dir := cmp.Or(vars["CLAUDE_CONFIG_DIR"], filepath.Join(vars["HOME"], ".claude"))
	path := filepath.Join(dir, "sessions", strconv.Itoa(pid)+".json")
	var entry struct {
		PID     int    `json:"pid"`
		Session string `json:"sessionId"`
		Start   string `json:"procStart"`
	}
	text, _ := files.ReadSmall(path)
	if !filepath.IsAbs(path) || json.Unmarshal(text, &entry) != nil ||
		entry.PID != pid || entry.Start != "" && entry.Start != start {
		return ""
	}
	return entry.Session
}

func (by *Caller) supervisorPID() (pid int, ok bool) {
	pid, err := strconv.Atoi(by.Get(SupervisorVariable))
	return pid, err == nil && pid > 1
}

// Supervisor returns the process that restarts the client: the one in the
// environment, if this process descends from it and it handles SIGUSR1. The
// signal would end any other process.
func (by *Caller) Supervisor() (*os.Process, error) {
	const remedy = "not under sm run: %s; start the client with 'sm run -- claude'"
	pid, ok := by.supervisorPID()
	if !ok {
		return nil, fmt.Errorf(remedy, SupervisorVariable+" is not set")
	}
	// The handle comes before the checks: on Linux it then keeps referring to the
	// process that was checked.
	p, _ := os.FindProcess(pid) // on Unix it has no error
	fault := ""
	if _, ok := proc.ChildOf(pid, os.Getpid(), "/proc"); !ok {
		fault = "has not started this client"
	} else if !proc.Catches("/proc", pid, syscall.SIGUSR1) {
		fault = "does not wait for SIGUSR1"
	}
	if fault != "" {
		_ = p.Release()
		return nil, fmt.Errorf(remedy, fmt.Sprintf("process %d %s", pid, fault))
	}
	return p, nil
}

// Inside reports whether a client runs this command. sign is the variable or
// the process that shows it.
func (by *Caller) Inside() (sign string, inside bool) {
	for _, name := range []string{
		"CLAUDE_CODE_SESSION_ID",
		"CLAUDECODE",
		"CLAUDE_PID",
		SupervisorVariable,
		"CLAUDE_SESSION_MANAGER_ID",
	} {
		if by.Get(name) != "" {
			return name, true
		}
	}
	for p := range proc.Lineage("/proc", os.Getppid()) {
		if SessionOf(p.PID, p.Start) != "" {
			return fmt.Sprintf("process %d", p.PID), true
		}
	}
	return "", false
}

// Origin returns the client and agent that run this process, by the environment
// that the client passes to its hooks. For a child of Codex's server it returns
// neither an agent nor a pane: the server has the environment of the pane in
// which it was started.
func (by *Caller) Origin(at time.Time) hook.Origin {
	return by.origin(at, "/proc", os.Getppid())
}

// origin returns the Origin of a child of the process parent.
func (by *Caller) origin(at time.Time, procDir string, parent int) hook.Origin {
	line := proc.Lineage(procDir, parent)
	o := hook.Origin{
		Project: by.Get("CLAUDE_PROJECT_DIR"),
		PID:     proc.ClientPID(by.Get("CLAUDE_PID"), parent, line),
		At:      at.UTC(),
	}
	if p, err := proc.Stat(procDir, o.PID); err == nil {
		o.Start = p.Start
	}
	o.AutoCompact = by.autoCompact(o.Project)

	for p := range line { // shells do not count, even if one has started a server
		if !p.Shell() && isServer(p.PID, procDir) {
			return o
		}
	}
	o.Parent = by.Get("SM_PARENT_ID")
	o.Name = by.Get("SM_NAME")
	o.Provider = by.Get("SM_PROVIDER")
	o.Tmux, o.Server = hook.ParseTmux(by.Get("TMUX"))
	if pane := by.Get("TMUX_PANE"); o.Tmux != "" && hook.IsPane(pane) {
		o.Pane = pane
	}
	o.Agent = cmp.Or(
		by.Get("CLAUDE_SESSION_MANAGER_ID"),
		hook.TmuxAgent(o.Tmux, o.Server, o.Pane),
	)
	return o
}

// Selves returns the ids that the observer may have for the agent that runs
// this process, the most certain first. In a thread of Codex, the other
// variables may be those of the pane in which Codex's daemon was started.
func (by *Caller) Selves() []string {
	ids := []string{
		by.Get("CODEX_THREAD_ID"),
		by.Origin(time.Now()).Agent,
		by.Get("CLAUDE_CODE_SESSION_ID"),
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}
