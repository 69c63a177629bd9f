package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Inspect says what tmux knows of a pane now. It looks at no process.
func (s *Server) Inspect(ctx context.Context, p Pane) (State, error) {
	const op = "inspect"
	if err := p.check(); err != nil {
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	out, err := s.run(ctx, p.Socket, "", "display-message", "-p", "-t", p.ID, stateFormat)
	if err != nil {
		return State{}, failed(op, p, err)
	}
	return p.judge(op, strings.TrimSuffix(out, "\n"))
}

// judge reads a line of stateFormat that is meant to be about p.
func (p Pane) judge(op, line string) (State, error) {
	state, err := parseState(p.Socket, line)
	switch {
	case err != nil || state.Pane.ID != p.ID:
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonGone, Err: err}
	case p.Server != 0 && state.Pane.Server != p.Server:
		err := fmt.Errorf("its pid is %d, not %d", state.Pane.Server, p.Server)
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonServerChanged, Err: err}
	}
	return state, nil
}

// Find lists the panes of a server, in tmux's order, each once. A socket without a
// server gives an Error with ReasonGone.
func (s *Server) Find(ctx context.Context, socket string) ([]State, error) {
	const op = "list panes"
	if err := checkSocket(socket); err != nil {
		return nil, &Error{Op: op, Reason: ReasonUnknown, Err: err}
	}
	out, err := s.run(ctx, socket, "", "list-panes", "-a", "-F", stateFormat)
	if err != nil {
		return nil, failed(op, Pane{Socket: socket}, err)
	}
	var found []State
	for line := range strings.Lines(out) {
		state, err := parseState(socket, strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, &Error{Op: op, Pane: Pane{Socket: socket}, Reason: ReasonUnknown, Err: err}
		}
		// A window can be part of several sessions.
		if !slices.ContainsFunc(found, func(f State) bool { return f.Pane == state.Pane }) {
			found = append(found, state)
		}
	}
	return found, nil
}

// PaneOf finds the pane in which a process runs: the one whose own process is pid or an
// ancestor of it. None is an Error with ReasonGone.
func (s *Server) PaneOf(ctx context.Context, socket string, pid int) (Pane, error) {
	const op = "find the pane of a process"
	line, err := ancestry(pid)
	if err != nil {
		return Pane{}, &Error{Op: op, Pane: Pane{Socket: socket}, Reason: reasonOfProcess(err), Err: err}
	}
	states, err := s.Find(ctx, socket)
	if err != nil {
		return Pane{}, err
	}
	// The nearest ancestor: a tmux server can itself run in a pane of another.
	for _, pid := range line {
		for _, state := range states {
			if state.PID == pid {
				return state.Pane, nil
			}
		}
	}
	err = fmt.Errorf("no pane of %s runs process %d", socket, pid)
	return Pane{}, &Error{Op: op, Pane: Pane{Socket: socket}, Reason: ReasonGone, Err: err}
}
