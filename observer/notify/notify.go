// Package notify gives texts to the operator's command.
//
// The command is run by no shell, one at a time, and with a limit: it is not ours, and may hang or start others.
package notify

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// within bounds a command, atEnd what it has once the observer ends.
const (
	within = 10 * time.Second
	atEnd  = time.Second
)

// A Command is run once at a time.
type Command struct{ running sync.Mutex }

// Run runs argv with a text as a line of its standard input, and waits for it. When ctx ends, as with the observer, the
// command has a second left.
func (c *Command) Run(ctx context.Context, argv []string, text string) error {
	c.running.Lock()
	defer c.running.Unlock()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(atEnd, cancel) })()
	cmd := exec.CommandContext(limit, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(text + "\n")
	cmd.Stdout = io.Discard
	cmd.Stderr = io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.Run()
}
