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

// Command runs a program, Argv with its arguments, with the text as a line of its standard
// input. It is run without a shell, one at a time, and with a limit: it may hang or start
// others.
type Command struct {
	Argv    []string
	running sync.Mutex
}

// Notify runs the program, if there is one, and waits for it. When ctx ends, as with the
// observer, the program has a second left.
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
