package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/deploy/doctor"
	"sm/observer/api"
)

func newSendCommand(env *environ) *cobra.Command {
	var important, urgent bool
	cmd := command(`send [--important|--urgent] ID TEXT|-
Send a message to an agent

Add a message to an agent's queue. It is delivered at the end of the agent's turn, an important one between two tool
calls, an urgent one at once. With - the text is read from standard input. Exit code 0 means that the message is
stored. It is delivered once; without a delivery within queue.ttl it expires. 'sm messages ID' shows this.
It is refused while sm only watches, see 'sm doctor', and beyond queue.per_sender_minute. A message is one line: breaks
and tabs become spaces. Send the path of a file for more.

$ sm send web "Look at CI."
$ git log -1 --format=%s | sm send --important web -

--important deliver it between two tool calls
--urgent deliver it at once
`, flags{
		"important": &important,
		"urgent":    &urgent,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) (err error) {
		m := api.NewMessage{ID: rand.Text(), Mode: "sequential"}
		switch {
		case important:
			m.Mode = "important"
		case urgent:
			m.Mode = "urgent"
		}
		if m.Text, err = textArg(env.Stdin, args[1]); err != nil {
			return err
		}
		m.From = env.Origin(time.Now()).Agent
		sent, err := client.Send(ctx, args[0], m)
		if err != nil {
			return err
		}
		_ = env.print("queued as %s for %s", sent.ID, sent.To)
		if sent.WaitsFor == api.WaitsForHooks {
			_ = env.print("the message waits for the first hook of the agent's present session; " + doctor.HooksRemedy)
		}
		return nil
	}))
	cmd.MarkFlagsMutuallyExclusive("important", "urgent")
	return cmd
}

func newMessagesCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`messages [ID]
Show the messages of all agents, or of one, and their delivery

Show notices and messages that are waiting, and for a day those that are done. A message is confirmed when the
agent's transcript contains it.

$ sm messages
$ sm messages web

--json print JSON in the format of GET /sessions/{id}/messages
`, flags{
		"json": &asJSON,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
		list, err := client.Messages(ctx, strings.Join(args, ""))
		return env.answer(asJSON, "messages", list, err)
	}))
}

func newRegisterCommand(env *environ) *cobra.Command {
	var r api.Registration
	return command(`register ID
Register an agent with the observer

Register an agent, before its first hook or later: its parent, its name, and its session or pane. ID is a new name, or
without --session the name, title or session of an agent. Registering it again adds the given values; another session
or pane gets the name. A running client that has a name already gets a new one with its parent and children.

$ sm register web --name web --pane %3

--name the name of the agent is <NAME>
--pane the tmux pane is <%N>
--parent the agent that is notified of its compactions, by <ID>
--provider the client is <P>: claude or codex
--session the client's session is <UUID>
`, flags{
		"parent":   &r.ParentID,
		"name":     &r.Name,
		"provider": &r.Provider,
		"session":  &r.SessionID,
		"pane":     &r.Pane,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
		r.ID = args[0]
		r.Tmux = env.Origin(time.Now()).Tmux
		// A new name may be a prefix of others. The ids of panes are sm's own.
		s, err := client.Session(ctx, r.ID)
		switch {
		case r.SessionID == "" && err == nil && (cmp.Or(s.Name, s.Title) == r.ID ||
			strings.HasPrefix(s.SessionID, r.ID) || strings.HasPrefix(r.ID, "tmux-")):
			r.ID = s.ID
		case s.ID != r.ID:
			r.Name = cmp.Or(r.Name, r.ID)
		}
		s, err = client.Register(ctx, r)
		switch {
		case api.StatusCode(err) == http.StatusUnprocessableEntity:
			return usagef("%w", err)
		case err != nil:
			return err
		}
		if s.SessionID == "" {
			return env.print("registered %s, which has no client yet; --session names one that runs", s.ID)
		}
		return env.print("registered %s", s.ID)
	}))
}
