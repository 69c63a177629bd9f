// Package prompt types messages at the prompts of waiting clients in tmux.
//
// It finds the pane. Package tmux checks that the client is there and its
// prompt is empty.
package prompt

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sm/handoff/tmux"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
)

// Prompts types at the prompts of one tmux.
type Prompts struct {
	server *tmux.Server
}

// New returns nil if there is no tmux. Agents are then reached by hooks only.
func New(log *slog.Logger) *Prompts {
	server, err := tmux.New(tmux.Options{})
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
	idle func(context.Context) error,
) (typed bool, err error) {
	return t.act(ctx, t.server.Type, at, text, idle)
}

// Finish presses Enter where the line is at the prompt already.
func (t *Prompts) Finish(
	ctx context.Context,
	at fleet.Place,
	text string,
	idle func(context.Context) error,
) (typed bool, err error) {
	return t.act(ctx, t.server.Finish, at, text, idle)
}

// act types by one of the server's two ways.
func (t *Prompts) act(
	ctx context.Context, how func(context.Context, tmux.Pane, tmux.Client, string, func(context.Context) error) error,
	at fleet.Place, text string, idle func(context.Context) error,
) (typed bool, err error) {
	if at.Tmux == "" || at.Pane == "" {
		if at.Tmux, at.Server, at.Pane, err = paneOf(at.PID); err != nil {
			return false, err
		}
	}
	pane := tmux.Pane{Socket: at.Tmux, Server: at.Server, ID: at.Pane}
	err = how(ctx, pane, tmux.Client{
		PID:   at.PID,
		Start: at.Start,
	}, tmux.Sanitise(text, tmux.MaxBytes), idle)
	return err == nil || tmux.PastedIn(err), err
}

// paneOf finds the pane of a process by its environment, for clients whose
// hooks have not come. The pane is verified before anything is typed.
func paneOf(pid int) (socket string, server int, pane string, err error) {
	vars, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return "", 0, "", fmt.Errorf(
			"find the pane of process %d: %w; install sm's hooks",
			pid,
			err,
		)
	}
	for entry := range bytes.SplitSeq(vars, []byte{0}) {
		switch name, value, _ := strings.Cut(string(entry), "="); name {
		case "TMUX":
			socket, server = hook.ParseTmux(value)
		case "TMUX_PANE":
			pane = value
		}
	}
	if socket == "" || !hook.IsPane(pane) {
		return "", 0, "", fmt.Errorf(
			"process %d runs in no tmux pane; it gets messages at its next hook",
			pid,
		)
	}
	return socket, server, pane, nil
}
