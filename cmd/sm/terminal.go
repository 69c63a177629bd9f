package main

import (
	"context"
	"log/slog"

	"sm/handoff/tmux"
	"sm/observer/fleet"
)

// prompts types at prompts by way of tmux.
type prompts struct {
	server *tmux.Server
}

// newPrompts is nil where there is no tmux: then agents are told by their hooks alone.
func newPrompts(log *slog.Logger) *prompts {
	server, err := tmux.New(tmux.Options{})
	if err != nil {
		log.Info("no tmux: idle agents are told at their next hook", "err", err)
		return nil
	}
	return &prompts{server}
}

func (t *prompts) Type(ctx context.Context, at fleet.Place, text string, idle func(context.Context) error) (typed bool, err error) {
	pane := tmux.Pane{Socket: at.Socket, Server: at.Server, ID: at.Pane}
	err = t.server.Type(ctx, pane, tmux.Client{PID: at.PID, Start: at.Start}, tmux.Sanitise(text, tmux.MaxBytes), idle)
	return err == nil || tmux.PastedIn(err), err
}
