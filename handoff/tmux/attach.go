package tmux

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// Attach returns the command that shows a pane on this terminal. Inside the
// pane's own tmux server it switches that client to the pane, elsewhere it
// attaches a new client. A pane without a socket is in the tmux server of this
// process, else in the default server. environ is the environment of this
// process.
func Attach(ctx context.Context, p Pane, environ []string) (*exec.Cmd, error) {
	binary, err := exec.LookPath("tmux")
	if err != nil {
		return nil, errors.New("there is no tmux here; install it, or look for the agent's terminal")
	}
	var server []string
	if p.Socket != "" {
		server = []string{"-S", p.Socket}
	} else {
		p.Socket = "/" // for check; the default server's path is unknown
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("show the pane: %w", err)
	}

	inside := ""
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, "TMUX="); ok {
			inside, _ = hook.ParseTmux(value)
		}
	}
	verb := "switch-client"
	if inside == "" || server != nil && !files.Same(inside, p.Socket) {
		verb = "attach-session"
		// tmux refuses a client that has the variable of another server.
		environ = append(slices.Clone(environ), "TMUX=")
	}
	cmd := exec.CommandContext(ctx, binary, append(server, verb, "-t", p.ID)...)
	cmd.Env = environ
	return cmd, nil
}
