package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		PID: clientPID(get("CLAUDE_PID"), os.Getppid(), "/proc"), At: at.UTC(),
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
		name, above, err := processStat(proc, pid)
		if err != nil || !slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"}, name) {
			break
		}
		pid = above
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// processStat reads a process's name and parent.
func processStat(proc string, pid int) (name string, parent int, err error) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", 0, err
	}
	// 4711 (a name) S 42 …: a name may hold spaces and brackets of its own.
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return "", 0, fmt.Errorf("process %d: no name in %q; see proc(5)", pid, stat)
	}
	fields := bytes.Fields(stat[to+1:])
	if len(fields) < 2 {
		return "", 0, fmt.Errorf("process %d: no parent in %q; see proc(5)", pid, stat)
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return string(stat[from+1 : to]), parent, err
}
