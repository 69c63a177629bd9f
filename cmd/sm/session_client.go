package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sm/handoff"
)

// supervisorVariable names the process that owns the client and restarts it.
const supervisorVariable = "CLAUDE_SUPERVISOR_PID"

// guardClient says which client runs this command: the child of its supervisor, else the process that the client's
// hooks report.
func (env *environ) guardClient() handoff.GuardClient {
	session, _ := env.lookupEnv("CLAUDE_CODE_SESSION_ID")
	o := env.origin(time.Now())
	c := handoff.GuardClient{SessionID: session, PID: o.PID, Start: o.Start}
	if pid, ok := env.supervisorPID(); ok {
		if child, ok := childOf(pid, os.Getpid(), "/proc"); ok && child != os.Getpid() {
			if p, err := processStat("/proc", child); err == nil {
				c.PID, c.Start = child, p.start
			}
		}
	}
	return c
}

func (env *environ) supervisorPID() (pid int, ok bool) {
	text, _ := env.lookupEnv(supervisorVariable)
	pid, err := strconv.Atoi(text)
	return pid, err == nil && pid > 1
}

// supervisor is the process that restarts our client: the one that is named, when we descend from it and it waits for
// the signal. Any other one is somebody else, whom the signal would end.
func (env *environ) supervisor() (*os.Process, error) {
	pid, ok := env.supervisorPID()
	if !ok {
		return nil, fmt.Errorf("not under sm run: %s is not set; start the client with 'sm run -- claude'", supervisorVariable)
	}
	// First a handle, which on Linux stays with this process, then the questions.
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("not under sm run: process %d: %w; start the client with 'sm run -- claude'", pid, err)
	}
	if _, ok := childOf(pid, os.Getpid(), "/proc"); !ok {
		err = fmt.Errorf("not under sm run: process %d has not started this client; start it with 'sm run -- claude'", pid)
	} else if !catches("/proc", pid, syscall.SIGUSR1) {
		err = fmt.Errorf("not under sm run: process %d does not wait for SIGUSR1; start the client with 'sm run -- claude'", pid)
	}
	if err != nil {
		return nil, errors.Join(err, p.Release())
	}
	return p, nil
}

// insideClient says by which variable it shows that a client runs this command, if one does.
func (env *environ) insideClient() (variable string, inside bool) {
	for _, name := range []string{"CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PID", supervisorVariable, "CLAUDE_SESSION_MANAGER_ID"} {
		if value, _ := env.lookupEnv(name); value != "" {
			return name, true
		}
	}
	return "", false
}

// catches reads off proc(5) whether a process has a handler for a signal.
func catches(proc string, pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(status) {
		if text, ok := strings.CutPrefix(string(line), "SigCgt:"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return err == nil && mask>>(uint(sig)-1)&1 == 1
		}
	}
	return false
}

// restartLook is how often awaitRestart looks.
const restartLook = 20 * time.Millisecond

// awaitRestart waits until the supervisor has begun to restart the client of a session, or until ctx ends: the client
// may take longer to end than anybody waits here. An error is why there is no restart.
func awaitRestart(ctx context.Context, dir string, client handoff.GuardClient) error {
	look := time.NewTicker(restartLook)
	defer look.Stop()
	for {
		s, err := handoff.ReadGuard(filepath.Join(dir, handoff.GuardFile))
		switch {
		case err == nil && s.RestartRefused != "":
			return fmt.Errorf("not restarted: %s; tell the user where the document is, and ask for a fresh session that reads it", oneLine(s.RestartRefused))
		case err == nil && !s.KillRequested, !alive(client.PID, client.Start):
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func signalRestart(p *os.Process) error {
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("signal sm run, process %d: %w; start the client with 'sm run -- claude'", p.Pid, err)
	}
	return nil
}
