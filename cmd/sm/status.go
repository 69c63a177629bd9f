package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/observer/api"
)

func newStatusCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [ID]",
		Short: "Show what the observer knows of all sessions, or of one",
		Long: "Show what the observer knows. ID is an agent's id or name, a session's UUID, or a unique prefix of at least\n" +
			"8 characters.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return env.oneStatus(cmd.Context(), client, args[0], asJSON)
			}
			return env.allStatus(cmd.Context(), client, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as GET /sessions gives it")
	return cmd
}

// client is how a command asks the observer. An agent that asks shows that it is at work: its reminders begin anew.
func (env *environ) client(cmd *cobra.Command) (*api.Client, error) {
	cfg, err := loadConfig(cmd.Flags(), env)
	if err != nil {
		return nil, err
	}
	sockets, err := cfg.SocketPaths(env.lookupEnv)
	if err != nil {
		return nil, err
	}
	client := api.NewClient(sockets)
	if agent := env.caller().origin(time.Now()).Agent; agent != "" {
		_, _ = client.ResetReminders(cmd.Context(), agent) // no observer, or none of its agents: the command itself says so
	}
	return client, nil
}

func (env *environ) allStatus(ctx context.Context, client *api.Client, asJSON bool) error {
	all, err := client.Sessions(ctx)
	if err != nil {
		return statusError(err)
	}
	if asJSON {
		return writeJSON(env.stdout, all)
	}
	if all.CatchingUp {
		fmt.Fprintln(env.stderr, "sm: the observer is still reading what existed when it started; ask again in a moment")
	}
	if all.Demo {
		fmt.Fprintln(env.stdout, demoNotice)
	}
	if len(all.Sessions) == 0 {
		fmt.Fprintln(env.stdout, "no sessions yet")
		return nil
	}
	return writeSessions(env.stdout, all.Sessions, time.Now(), env.colours(env.stdout))
}

func (env *environ) oneStatus(ctx context.Context, client *api.Client, id string, asJSON bool) error {
	s, err := client.Session(ctx, id)
	if err != nil {
		return statusError(err)
	}
	if asJSON {
		return writeJSON(env.stdout, s)
	}
	return writeSession(env.stdout, s, time.Now())
}

// statusError gives errors their exit codes: no observer and no such session are told apart from failures.
func statusError(err error) error {
	if errors.Is(err, api.ErrNoObserver) {
		return absentf("%w", err)
	}
	if status, ok := errors.AsType[*api.StatusError](err); ok && status.Code == http.StatusNotFound {
		return absentf("no such session; 'sm status' lists them")
	}
	return err
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// writeSession prints all about one session, a line each.
func writeSession(w io.Writer, s api.Session, now time.Time) error {
	t := term.Table{Headers: []string{"agent", s.ID}}
	for _, f := range top.Fields(s, now)[1:] {
		t.Add(term.Text(f[0], ""), term.Text(screen.OneLine(f[1]), ""))
	}
	return t.Write(w)
}
