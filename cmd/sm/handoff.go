package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sm/handoff/files"
	"sm/observer/api"
)

func newHandoffCommand(env *environ) *cobra.Command {
	return command(`handoff FILE
Continue in a fresh context when this turn ends (called by an agent)

Called by an agent for itself: write what your next context must know to FILE, call this at the end of your turn, and
end the turn. Your context is then cleared, and the new one is asked to read FILE. You keep your name; waiting
messages are delivered afterwards. Of several calls in a turn the last one counts.

$ sm handoff /tmp/handoff.md
`, nil, env.asking(env.handoff))
}

func (env *environ) handoff(ctx context.Context, client *api.Client, args []string) error {
	ids := env.Selves()
	if len(ids) == 0 {
		return absentf("no agent here: CLAUDE_SESSION_MANAGER_ID is not set, and this is no tmux pane; call sm handoff from within a session")
	}
	path, _ := filepath.Abs(args[0]) // with an error it is "", which does not exist
	if !utf8.ValidString(path) {
		return fmt.Errorf(
			"%s: the name is not UTF-8; write the document under a plain name",
			quote(args[0]),
		)
	}
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("%s: %w; write the document first", quote(path), files.Plain(err))
	}
	if err := scheduleHandoff(ctx, client, ids, path); err != nil {
		return err
	}
	return env.print("Handoff scheduled; it runs when this turn ends")
}

// scheduleHandoff requests a handoff under each of the ids until the observer
// accepts one, else it returns the first error. Several ids are needed because
// a client inherits the agent's id if another agent's client has started it.
func scheduleHandoff(
	ctx context.Context,
	client *api.Client,
	ids []string,
	path string,
) (first error) {
	for _, id := range ids {
		_, err := client.Handoff(ctx, id, api.NewHandoff{Requester: id, Path: path})
		switch api.StatusCode(err) {
		case http.StatusForbidden:
		case http.StatusNotFound:
			err = absentf(
				"the observer knows no agent %s; install sm's hooks with 'sm install', or call 'sm register'",
				quote(id),
			)
		default:
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func newHandoffsCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`handoffs
Show the handoffs of the last day

$ sm handoffs
$ sm handoffs cancel web

--json print JSON in the format of GET /handoffs
`, flags{
		"json": &asJSON,
	}, env.asking(func(ctx context.Context, client *api.Client, _ []string) error {
		list, err := client.Handoffs(ctx)
		return env.answer(asJSON, "handoffs", list, err)
	}), command(`cancel [ID]
Cancel a scheduled handoff; without ID your own

$ sm handoffs cancel web
`, nil, env.asking(env.cancelHandoff)))
}

func (env *environ) cancelHandoff(
	ctx context.Context,
	client *api.Client,
	args []string,
) (err error) {
	id := ""
	if len(args) == 1 {
		id = args[0]
	} else if id, err = env.ownHandoff(ctx, client); err != nil {
		return err
	}
	h, err := client.CancelHandoff(ctx, id)
	if err != nil {
		return absent(err)
	}
	return env.print("%s %s", h.ID, h.State)
}

// ownHandoff returns the id of the handoff that the caller has scheduled.
func (env *environ) ownHandoff(ctx context.Context, client *api.Client) (string, error) {
	ids := env.Selves()
	if len(ids) == 0 {
		return "", absentf("no agent here; name the handoff, 'sm handoffs' lists them")
	}
	list, err := client.Handoffs(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		s, err := client.Session(ctx, id)
		if err != nil {
			continue // the observer may have the next id
		}
		for _, h := range list.Handoffs {
			if h.Agent == s.ID && h.State == "scheduled" {
				return h.ID, nil
			}
		}
	}
	return "", errors.New("no handoff of yours waits; 'sm handoffs' lists all")
}
