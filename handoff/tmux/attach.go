package tmux

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Attach is the command that shows a pane to the person at this terminal: inside the pane's own tmux server it switches
// that client to the pane, elsewhere it attaches a new client. environ are the variables of this process, as NAME=value. A
// pane without a socket belongs to the tmux server that this process runs in, else to the default server. Nothing is typed.
func Attach(ctx context.Context, p Pane, environ []string) (*exec.Cmd, error) {
	binary, err := exec.LookPath("tmux")
	if err != nil {
		return nil, errors.New("there is no tmux here; install it, or look for the agent's terminal")
	}
	var server []string
	if p.Socket != "" {
		server = []string{"-S", p.Socket}
	} else {
		p.Socket = "/" // the default server's is a path as well
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("show the pane: %w", err)
	}
	inside := ""
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, "TMUX="); ok {
			inside, _, _ = strings.Cut(value, ",")
		}
	}
	verb := "switch-client"
	if inside == "" || server != nil && !sameFile(inside, p.Socket) {
		// tmux refuses a client inside another server as long as that one's variable is there.
		verb = "attach-session"
		environ = slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "TMUX=") })
	}
	cmd := exec.CommandContext(ctx, binary, append(server, verb, "-t", p.ID)...)
	cmd.Env = environ
	return cmd, nil
}

// sameFile says whether two paths lead to one socket.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	a, errA := filepath.EvalSymlinks(a)
	b, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && a == b
}
