package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/dashboards/screen"
	"sm/deploy/doctor"
	"sm/observer/api"
)

// maxMessage bounds what is read of a text on standard input: any text of that size is refused anyway.
const maxMessage = 64 << 10

func newSendCommand(env *environ) *cobra.Command {
	var important, urgent bool
	cmd := &cobra.Command{
		Use:   "send [--important|--urgent] ID TEXT|-",
		Short: "Send a message to an agent",
		Long: "Add a message to an agent's queue. It is delivered at the end of the agent's turn, an important one between two tool\n" +
			"calls, an urgent one at once. With - the text is read from standard input. Exit code 0 means that the message is\n" +
			"stored and will be delivered exactly once; 'sm messages ID' shows its delivery.",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm send web \"Look at CI.\"\n  git diff --stat | sm send --important web -",
		Args:              cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := api.NewMessage{ID: rand.Text(), Mode: "sequential"}
			switch {
			case important && urgent:
				return usagef("--important and --urgent exclude each other")
			case important:
				m.Mode = "important"
			case urgent:
				m.Mode = "urgent"
			}
			var err error
			if m.Text, err = textArg(env.Stdin, args[1]); err != nil {
				return err
			}
			m.From = env.caller().Origin(time.Now()).Agent
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			sent, err := client.Send(cmd.Context(), args[0], m)
			if err != nil {
				return statusError(err, args[0])
			}
			fmt.Fprintf(env.Stdout, "queued as %s for %s\n", sent.ID, screen.OneLine(sent.To))
			if sent.WaitsFor == api.WaitsForHooks {
				fmt.Fprintln(
					env.Stdout,
					"the message waits for the first hook of the agent's present session; "+doctor.HooksRemedy,
				)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&important, "important", false, "deliver it between two tool calls")
	cmd.Flags().BoolVar(&urgent, "urgent", false, "deliver it at once")
	return cmd
}

func newMessagesCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "messages [ID]",
		Short: "Show the messages of all agents, or of one, and their delivery",
		Long: "Show notices and messages that are waiting, and for a day those that are done. A message is confirmed when the\n" +
			"agent's transcript contains it.",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm messages\n  sm messages web",
		Args:              cobra.MaximumNArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) error {
			id := strings.Join(args, "")
			list, err := client.Messages(cmd.Context(), id)
			if err != nil {
				return statusError(err, id)
			}
			if asJSON {
				return writeJSON(env.Stdout, list)
			}
			if len(list.Messages) == 0 {
				return env.print("no messages")
			}
			return env.printer().WriteMessages(list.Messages, time.Now())
		}),
	}
	cmd.Flags().BoolVar(
		&asJSON,
		"json",
		false,
		"print JSON in the format of GET /sessions/{id}/messages",
	)
	return cmd
}

func newRegisterCommand(env *environ) *cobra.Command {
	var r api.Registration
	cmd := &cobra.Command{
		Use:   "register ID",
		Short: "Register an agent with the observer",
		Long: "Register an agent before its first hook: its parent, its name, and its session or pane. Registering it again\n" +
			"adds the given values.",
		Example: "  sm register web --name web --pane %3",
		Args:    cobra.ExactArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) error {
			r.ID = args[0]
			s, err := client.Register(cmd.Context(), r)
			if err != nil {
				return statusError(err)
			}
			return env.print("registered %s", s.ID)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(
		&r.ParentID,
		"parent",
		"",
		"the agent that is notified of its compactions, by `ID`",
	)
	flags.StringVar(&r.Name, "name", "", "the name of the agent is `NAME`")
	flags.StringVar(&r.Provider, "provider", "", "the client is `P`: claude or codex")
	flags.StringVar(&r.SessionID, "session", "", "the client's session is `UUID`")
	flags.StringVar(&r.Pane, "pane", "", "the tmux pane is `%N`")
	return cmd
}
