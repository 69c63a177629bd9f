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
	return p.parse(op, strings.TrimSuffix(out, "\n"))
}

// parse reads a line of stateFormat that is meant to be about p.
func (p Pane) parse(op, line string) (State, error) {
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
