package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"sm/transcript/hook"
)

// origin says who runs this process for whom: from the environment that the client hands to its hooks, which is that
// of the pane it runs in and of `sm run`, if that started it.
func (env *environ) origin(at time.Time) hook.Origin {
	get := func(name string) string {
		value, _ := env.lookupEnv(name)
		return value
	}
	o := hook.Origin{
		Agent: get("CLAUDE_SESSION_MANAGER_ID"), Parent: get("SM_PARENT_ID"), Name: get("SM_NAME"), Provider: get("SM_PROVIDER"),
		Project: get("CLAUDE_PROJECT_DIR"),
		PID:     clientPID(get("CLAUDE_PID"), os.Getppid(), "/proc"), At: at.UTC(),
	}
	if p, err := processStat("/proc", o.PID); err == nil {
		o.Start = p.start
	}
	o.Tmux, o.Server = hook.ParseTmux(get("TMUX"))
	if pane := get("TMUX_PANE"); o.Tmux != "" && hook.IsPane(pane) {
		o.Pane = pane
	}
	if o.Agent == "" {
		o.Agent = hook.TmuxAgent(o.Tmux, o.Server, o.Pane)
	}
	return o
}

// clientPID is the client's process: the one it names, which older ones do not, else our parent, past the shells that
// the client runs commands through.
func clientPID(named string, parent int, proc string) int {
	if pid, err := strconv.Atoi(named); err == nil && pid > 1 {
		return pid
	}
	pid := parent
	for range 8 { // more shells in each other there are not
		p, err := processStat(proc, pid)
		if err != nil || !slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"}, p.name) {
			break
		}
		pid = p.parent
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// A process is what the system says of one.
type process struct {
	name   string
	state  string // Z for one that has ended
	parent int
	start  string // in ticks since the boot
}

// processStat reads what proc(5) calls /proc/PID/stat.
func processStat(proc string, pid int) (p process, err error) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, err
	}
	// 4711 (a name) S 42 …: a name may hold spaces and brackets of its own.
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return p, fmt.Errorf("process %d: no name in %q; see proc(5)", pid, stat)
	}
	fields := bytes.Fields(stat[to+1:])
	if len(fields) < 2 {
		return p, fmt.Errorf("process %d: no parent in %q; see proc(5)", pid, stat)
	}
	p = process{name: string(stat[from+1 : to]), state: string(fields[0])}
	if len(fields) > 19 {
		p.start = string(fields[19])
	}
	p.parent, err = strconv.Atoi(string(fields[1]))
	return p, err
}

// alive reports whether a process still runs, and is the one that began at that time; an empty time stands for any.
func alive(pid int, start string) bool {
	p, err := processStat("/proc", pid)
	if err != nil {
		// Without /proc, as on macOS, the signal that does nothing tells half of it.
		return !errors.Is(err, fs.ErrNotExist) || !isDir("/proc/self") && syscall.Kill(pid, 0) == nil
	}
	return p.state != "Z" && p.state != "X" && (start == "" || p.start == start)
}
