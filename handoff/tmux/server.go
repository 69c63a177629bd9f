package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Server communicates with any number of tmux servers. It holds no connection
// and needs no closing. Its methods may be called by many goroutines at once.
type Server struct {
	binary string
	// timeout limits one tmux command. If a server is suspended, each command
	// takes all of it.
	timeout time.Duration
	// echo is the time within which the client must show a pasted text.
	echo time.Duration
	// quiet is how long attached terminals must not have used the pane. tmux
	// counts in whole seconds: at least 1 s, so that the next key is in another
	// second.
	quiet time.Duration
	locks sync.Map // a semaphore for each pane, without the server's pid, which not every caller has
}

// New finds the tmux command.
func New() (*Server, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return nil, fmt.Errorf("find tmux: %w: install it, or go without typing into panes", err)
	}
	return &Server{
		binary:  path,
		timeout: 2 * time.Second,
		echo:    5 * time.Second,
		quiet:   3 * time.Second,
	}, nil
}

// run runs tmux on a socket and returns its output. No argument may contain a
// text.
func (s *Server) run(ctx context.Context, socket string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoAnswer)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := s.command(ctx, socket, args...)
	cmd.Stdout = &out
	cmd.Stderr = &complaint
	if err := commandError(ctx, cmd.Run(), complaint.String()); err != nil {
		return "", err
	}
	return out.String(), nil
}

// command returns a tmux command on a socket.
func (s *Server) command(ctx context.Context, socket string, args ...string) *exec.Cmd {
	// -u keeps the client's glyphs in any locale.
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"-u", "-S", socket}, args...)...)
	// Our own environment is left out, because its TMUX would name another
	// server.
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = s.timeout
	return cmd
}

// commandError adds the error output of a tmux command to its error.
func commandError(ctx context.Context, err error, complaint string) error {
	switch complaint = strings.TrimSpace(complaint); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case complaint == "":
		return err
	}
	return fmt.Errorf("tmux: %.200q: %w", complaint, err)
}

var errNoAnswer = errors.New("tmux did not answer in time")

// failed returns an Error for a failed tmux command. Only its message shows
// that a server or pane no longer exists; the messages are unchanged since tmux
// 1.8.
func failed(p Pane, err error) *Error {
	e := &Error{
		Pane:   p,
		Reason: ReasonUnknown,
		Err:    err,
	}
	for _, gone := range []string{
		"no server running", "error connecting to", "can't find pane", "server exited", "lost server",
	} {
		if strings.Contains(err.Error(), gone) {
			e.Reason = ReasonGone
		}
	}
	return e
}
