package tmux

import (
	"context"
	"slices"
	"strings"
)

// Verify says that the pane takes keys and that they go to the client: nil, or an Error
// with the reason why not. It does not look at the screen.
func (s *Server) Verify(ctx context.Context, p Pane, c Client) error {
	state, err := s.Inspect(ctx, p)
	if err != nil {
		return err
	}
	return state.verify(c)
}

// Screen reads what a pane shows now.
func (s *Server) Screen(ctx context.Context, p Pane) (Screen, error) {
	v, err := s.look(ctx, "read the screen", p)
	return v.screen, err
}

// Inspect says what tmux knows of a pane now. It looks at no process.
func (s *Server) Inspect(ctx context.Context, p Pane) (State, error) {
	const op = "inspect"
	if err := p.check(); err != nil {
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	out, err := s.run(ctx, p.Socket, "display-message", "-p", "-t", p.ID, stateFormat)
	if err != nil {
		return State{}, failed(op, p, err)
	}
	return p.parse(op, strings.TrimSuffix(out, "\n"))
}

// Find lists the panes of a server, in tmux's order, each once. A socket without a
// server gives an Error with ReasonGone.
func (s *Server) Find(ctx context.Context, socket string) ([]State, error) {
	const op = "list panes"
	if err := checkSocket(socket); err != nil {
		return nil, &Error{Op: op, Reason: ReasonUnknown, Err: err}
	}
	out, err := s.run(ctx, socket, "list-panes", "-a", "-F", stateFormat)
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

// load makes a buffer that holds a text.
func (s *Server) load(ctx context.Context, socket, text, buffer string) error {
	cmd := s.command(ctx, socket, "load-buffer", "-b", buffer, "-")
	cmd.Stdin = strings.NewReader(text)
	return cmd.Run()
}

func (s *Server) lanesInUse() (n int) {
	s.lanes.Range(func(any, any) bool { n++; return true })
	return n
}
