package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sm/deploy/install"
	"sm/observer/api"
)

func newHandoffCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:   "handoff FILE",
		Short: "Continue in a fresh context when this turn ends (called by an agent)",
		Long: "Called by an agent for itself: write what your next context must know to FILE, call this at the end of your turn, and\n" +
			"end the turn. Your context is then cleared, and the new one is asked to read FILE. You keep your name; waiting\n" +
			"messages are delivered afterwards. Of several calls in a turn the last one counts.",
		Example: "  sm handoff /tmp/handoff.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.handoff(
				cmd,
				args[0],
			)
		},
	}
}

func (env *environ) handoff(cmd *cobra.Command, file string) error {
	ids := env.caller().Selves()
	if len(ids) == 0 {
		return absentf("no agent here: CLAUDE_SESSION_MANAGER_ID is not set, and this is no tmux pane; call sm handoff from within a session")
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w; give an absolute path", quote(file), err)
	}
	if !utf8.ValidString(path) {
		return fmt.Errorf(
			"%s: the name is not UTF-8; write the document under a plain name",
			quote(file),
		)
	}
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf(
			"%s: %w; write the document first",
			quote(path),
			install.PlainError(err),
		)
	}
	client, err := env.client(cmd)
	if err != nil {
		return err
	}
	if err := scheduleHandoff(cmd.Context(), client, ids, path); err != nil {
		return err
	}
	return env.print("Handoff scheduled; it runs when this turn ends")
}

// scheduleHandoff asks under each of the ids until one is the caller's: a client that an agent's client has started
// has inherited the name of another.
func scheduleHandoff(
	ctx context.Context,
	client *api.Client,
	ids []string,
	path string,
) (first error) {
	for _, id := range ids {
		_, err := client.Handoff(ctx, id, api.NewHandoff{Requester: id, Path: path})
		if err == nil {
			return nil
		}
		status, ok := errors.AsType[*api.StatusError](err)
		if first == nil {
			first = statusError(err)
			if ok && status.Code == http.StatusNotFound {
				first = absentf(
					"the observer knows no agent %s; install sm's hooks with 'sm install', or call 'sm register'",
					quote(id),
				)
			}
		}
		if !ok || status.Code != http.StatusNotFound && status.Code != http.StatusForbidden {
			return statusError(err)
		}
	}
	return first
}

func newHandoffsCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "handoffs",
		Short:   "Show the handoffs of the last day",
		Example: "  sm handoffs\n  sm handoffs cancel web",
		Args:    cobra.NoArgs,
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, _ []string) error {
			list, err := client.Handoffs(cmd.Context())
			switch {
			case err != nil:
				return statusError(err)
			case asJSON:
				return writeJSON(env.Stdout, list)
			case len(list.Handoffs) == 0:
				return env.print("no handoffs")
			}
			return env.printer().WriteHandoffs(list.Handoffs, time.Now())
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON in the format of GET /handoffs")
	cmd.AddCommand(&cobra.Command{
		Use:     "cancel [ID]",
		Short:   "Cancel a scheduled handoff; without ID your own",
		Example: "  sm handoffs cancel web",
		Args:    cobra.MaximumNArgs(1),
		RunE:    env.asking(env.cancelHandoff),
	})
	return cmd
}

func (env *environ) cancelHandoff(
	cmd *cobra.Command,
	client *api.Client,
	args []string,
) (err error) {
	id := ""
	if len(args) == 1 {
		id = args[0]
	} else if id, err = env.ownHandoff(cmd.Context(), client); err != nil {
		return err
	}
	h, err := client.CancelHandoff(cmd.Context(), id)
	if err != nil {
		if status, ok := errors.AsType[*api.StatusError](err); ok {
			return errors.New(status.Text)
		}
		return statusError(err)
	}
	return env.print("%s %s", h.ID, h.State)
}

// ownHandoff finds the one that the caller has scheduled.
func (env *environ) ownHandoff(ctx context.Context, client *api.Client) (string, error) {
	ids := env.caller().Selves()
	if len(ids) == 0 {
		return "", absentf("no agent here; name the handoff, 'sm handoffs' lists them")
	}
	list, err := client.Handoffs(ctx)
	if err != nil {
		return "", statusError(err)
	}
	for _, id := range ids {
		s, err := client.Session(ctx, id)
		if err != nil {
			continue // it may be known by the next
		}
		for _, h := range list.Handoffs {
			if h.Agent == s.ID && h.State == "scheduled" {
				return h.ID, nil
			}
		}
	}
	return "", errors.New("no handoff of yours waits; 'sm handoffs' lists all")
}
