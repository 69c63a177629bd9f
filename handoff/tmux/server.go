package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Server. The zero value is good.
type Options struct {
	// Binary is the tmux command, a name or a path; "" for tmux.
	Binary string
	// Timeout is how long one tmux command may take; 0 for 2 s. A server that is
	// suspended makes every command wait for all of it.
	Timeout time.Duration
	// Echo is how long the client may take to show what was pasted; 0 for 5 s.
	Echo time.Duration
	// Quiet is how long nobody may have used the pane from an attached terminal; 0 for
	// 3 s, negative for no such check. tmux counts in whole seconds: at least 1 s, so that
	// a key that comes next is in another.
	Quiet time.Duration
}

// Server talks to tmux servers, any number of them. It holds no connection and needs
// no closing. Its methods may be called by many goroutines at once.
type Server struct {
	binary               string
	timeout, echo, quiet time.Duration
	now                  func() time.Time

	lanes sync.Map // those that are in use, with channels that are closed when they are left
}

// lane is what a text at a time is typed into. The server's pid is no part of it, for
// who knows it and who does not mean the same pane.
type lane struct{ socket, id string }

// New finds the tmux command. Without one there is nothing to type with.
func New(o Options) (*Server, error) {
	path, err := exec.LookPath(cmp.Or(o.Binary, "tmux"))
	if err != nil {
		return nil, fmt.Errorf("find tmux: %w: install it, or go without typing into panes", err)
	}
	if o.Quiet > 0 {
		o.Quiet = max(o.Quiet, time.Second)
	}
	return &Server{
		binary:  path,
		timeout: cmp.Or(o.Timeout, 2*time.Second),
		echo:    cmp.Or(o.Echo, 5*time.Second),
		quiet:   cmp.Or(o.Quiet, 3*time.Second),
		now:     time.Now,
	}, nil
}

// enterLane waits for the caller's turn, which lasts until release is called.
func (s *Server) enterLane(ctx context.Context, p Pane) (release func(), err error) {
	key, left := lane{p.Socket, p.ID}, make(chan struct{})
	for {
		other, taken := s.lanes.LoadOrStore(key, left)
		if !taken {
			return func() { s.lanes.Delete(key); close(left) }, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// run runs tmux on a socket and returns what it printed. No argument may hold a text.
func (s *Server) run(ctx context.Context, socket string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoAnswer)
	defer cancel()
	cmd := s.command(ctx, socket, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := complete(ctx, cmd.Run(), complaint.String()); err != nil {
		return "", err
	}
	return out.String(), nil
}

// command is tmux on a socket, not yet started.
func (s *Server) command(ctx context.Context, socket string, args ...string) *exec.Cmd {
	// -u: the client's glyphs are wanted as they are, whatever locales there are here.
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"-u", "-S", socket}, args...)...)
	// Nothing of our own environment: TMUX would name another server.
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = s.timeout
	return cmd
}

// complete is the error of a command that has ended, with what it said.
func complete(ctx context.Context, err error, complaint string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if said := strings.TrimSpace(complaint); said != "" {
		return &saidError{said, err}
	}
	return err
}

var errNoAnswer = errors.New("tmux did not answer in time")

// saidError is what tmux said when it failed.
type saidError struct {
	said string
	err  error
}

func (e *saidError) Error() string { return fmt.Sprintf("tmux: %.200q", e.said) }
func (e *saidError) Unwrap() error { return e.err }

// failed turns the failure of a tmux command into an Error. That a server or pane is no
// more can only be told from the wording, which has been the same since tmux 1.8.
func failed(op string, p Pane, err error) *Error {
	e := &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	said, ok := errors.AsType[*saidError](err)
	gone := []string{"no server running", "error connecting to", "can't find pane", "server exited", "lost server"}
	if ok && slices.ContainsFunc(gone, func(words string) bool { return strings.Contains(said.said, words) }) {
		e.Reason = ReasonGone
	}
	return e
}
