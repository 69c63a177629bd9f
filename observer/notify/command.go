package notify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sm/handoff/proc"
)

// within is the time limit of a command, atEnd its limit once the observer
// ends.
const (
	within = 10 * time.Second
	atEnd  = time.Second
)

// Command runs the program Argv[0] with its arguments and a text as one line of
// its standard input. It uses no shell, and runs one program at a time with a
// time limit, as the program may hang or start others.
type Command struct {
	Argv    []string
	running sync.Mutex
}

// Notify runs the program, if there is one, and waits for it. When ctx ends, as
// with the observer, the program gets one more second.
func (c *Command) Notify(ctx context.Context, n Notice) error {
	if c == nil {
		return nil
	}
	c.running.Lock()
	defer c.running.Unlock()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(atEnd, cancel) })()
	cmd := proc.Command(limit, c.Argv[0], c.Argv[1:]...)
	cmd.Stdin = strings.NewReader(n.Text + "\n")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("operator.notify: %s: %w", c.Argv[0], err)
	}
	return nil
}
