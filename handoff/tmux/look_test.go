package tmux

import "context"

// Verify says that the pane takes keys and that they go to the client: nil, or an Error
// with the reason why not. It does not look at the screen.
func (s *Server) Verify(ctx context.Context, p Pane, c Client) error {
	state, err := s.Inspect(ctx, p)
	if err != nil {
		return err
	}
	return state.verify("verify", c)
}

// Screen reads what a pane shows now.
func (s *Server) Screen(ctx context.Context, p Pane) (Screen, error) {
	v, err := s.look(ctx, "read the screen", p)
	return v.screen, err
}
