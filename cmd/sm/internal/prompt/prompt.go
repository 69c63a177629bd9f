// Package prompt types messages at the prompts of waiting clients in tmux.
//
// It finds the pane. Package tmux checks that the client runs there and that
// its prompt is empty.
package prompt

import (
	"context"
	"fmt"
	"log/slog"

	"sm/cmd/internal/caller"
	"sm/handoff/tmux"
	"sm/observer"
	"sm/observer/fleet"
)

// Prompts types at the prompts of clients on one tmux server.
type Prompts struct {
	server *tmux.Server
}

// New returns nil if there is no tmux. Then only hooks reach the agents.
func New(log *slog.Logger) observer.Terminal {
	server, err := tmux.New()
	if err != nil {
		log.Info("no tmux: idle agents get messages at their next hook", "err", err)
		return nil
	}
	return &Prompts{server}
}

// Type types a line and presses Enter, see [sm/observer.Terminal].
func (t *Prompts) Type(
	ctx context.Context,
	at fleet.Place,
	text string,
	finish bool,
	idle func(context.Context) error,
) (typed bool, err error) {
	if at.Tmux == "" || at.Pane == "" {
		// No hook of this client has run yet. Type verifies the pane before it types.
		o := caller.OfProcess(at.PID)
		if o.Pane == "" {
			return false, fmt.Errorf(
				"process %d runs in no tmux pane; it gets messages at its next hook",
				at.PID,
			)
		}
		at.Tmux = o.Tmux
		at.Server = o.Server
		at.Pane = o.Pane
	}
	err = t.server.Type(ctx, tmux.Line{
		Pane:   tmux.Pane{Socket: at.Tmux, Server: at.Server, ID: at.Pane},
		Client: tmux.Client{PID: at.PID, Start: at.Start},
		Text:   tmux.Sanitise(text),
		Finish: finish,
		Check:  idle,
	})
	return err == nil || tmux.PastedIn(err), err
}
