package notify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sm/handoff/proc"
)

// within bounds a command, atEnd what it has once the observer ends.
const (
	within = 10 * time.Second
	atEnd  = time.Second
)

// Command runs a program with the text as a line of its standard input. It is run
// without a shell, one at a time, and with a limit: it may hang or start others.
type Command struct {
	argv    []string
	running sync.Mutex
}

// NewCommand makes a notifier of a program with its arguments.
func NewCommand(argv ...string) *Command { return &Command{argv: argv} }

// Notify runs the program and waits for it.
func (c *Command) Notify(ctx context.Context, n Notice) error {
	c.running.Lock()
	defer c.running.Unlock()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(atEnd, cancel) })()
	cmd := proc.Command(limit, c.argv[0], c.argv[1:]...)
	cmd.Stdin = strings.NewReader(n.Text + "\n")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("operator.notify: %s: %w", c.argv[0], err)
	}
	return nil
}
