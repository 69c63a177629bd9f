package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/observer/api"
)

func newRemindCommand(env *environ) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remind ID (--in TIME | [--soft TIME] [--hard TIME]) TEXT|-",
		Short: "Remind an agent at a time, or after a time without activity",
		Long: "With --in the agent gets the text once. With --soft and --hard it gets the text when the reminder has not been reset\n" +
			"for that time: by a new cycle, any sm command of the agent, or 'sm reminders reset ID'. Times are like 10m, or\n" +
			"seconds. Reminders pause while the agent compacts.",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm remind web --in 10m \"Look at CI.\"\n  sm remind web --soft 5m --hard 15m \"Say how far you are.\"",
		Args:              cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r := api.NewReminder{}
			for _, t := range []struct {
				name string
				to   *float64
			}{{"in", &r.In}, {"soft", &r.Soft}, {"hard", &r.Hard}} {
				if *t.to, err = intervalOf(
					t.name,
					cmd.Flag(t.name).Value.String(),
				); err != nil {
					return err
				}
			}
			if (r.In > 0) == (r.Soft > 0 || r.Hard > 0) {
				return usagef("give --in, or --soft or --hard or both")
			}
			if r.Text, err = textArg(env.Stdin, args[1]); err != nil {
				return err
			}
			r.From = env.caller().Origin(time.Now()).Agent
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			set, err := client.Remind(cmd.Context(), args[0], r)
			if err != nil {
				return statusError(err, args[0])
			}
			return env.print("reminder %s for %s", set.ID, set.Agent)
		},
	}
	flags := cmd.Flags()
	flags.String("in", "", "once, after `TIME`")
	flags.String("soft", "", "between two tool calls, after `TIME` without a reset")
	flags.String("hard", "", "at once, after `TIME` without a reset")
	return cmd
}

// intervalOf reads a flag such as 10m, or bare seconds; "" is none.
func intervalOf(name, value string) (seconds float64, err error) {
	if value == "" {
		return 0, nil
	}
	d, err := config.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, usagef(
			"--%s %s is no time to come: give 10m, 1h30m or seconds",
			name,
			quote(value),
		)
	}
	return d.Seconds(), nil
}

// textArg is a text of the command line, or of standard input for -.
func textArg(stdin io.Reader, arg string) (string, error) {
	if arg != "-" {
		return strings.TrimSpace(arg), nil
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxMessage))
	if err != nil {
		return "", fmt.Errorf("read the text: %w; give it as an argument", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func newRemindersCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "reminders [ID]",
		Short:             "Show the reminders of all agents, or of one",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm reminders\n  sm reminders web",
		Args:              cobra.MaximumNArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) error {
			list, err := client.Reminders(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return statusError(err)
			}
			if asJSON {
				return writeJSON(env.Stdout, list)
			}
			return env.printer().writeReminders(list.Reminders, time.Now())
		}),
	}
	cmd.Flags().BoolVar(
		&asJSON,
		"json",
		false,
		"print JSON in the format of GET /sessions/{id}/reminders",
	)
	cmd.AddCommand(newCancelReminderCommand(env), newResetRemindersCommand(env))
	return cmd
}

func (to *printer) writeReminders(list []api.Reminder, now time.Time) error {
	if len(list) == 0 {
		fmt.Fprintln(to.Writer, "no reminders")
		return nil
	}
	t := term.Table{
		Headers: []string{"ID", "AGENT", "WHEN", "TEXT"},
		Colour:  to.Colour,
		Width:   to.Columns,
	}
	for _, r := range list {
		t.Add(
			r.ID,
			r.Agent,
			whenText(r, now),
			screen.Text(r.Text),
		)
	}
	return t.Write(to.Writer)
}

func whenText(r api.Reminder, now time.Time) string {
	switch {
	case r.State != "":
		return r.State
	case r.DueAt != nil:
		return "in " + max(0, r.DueAt.Sub(now).Round(time.Second)).String()
	}
	var parts []string
	for _, p := range []struct {
		name    string
		seconds float64
	}{{"soft", r.Soft}, {"hard", r.Hard}} {
		if p.seconds > 0 {
			parts = append(
				parts,
				p.name+" "+time.Duration(p.seconds*float64(time.Second)).String(),
			)
		}
	}
	return strings.Join(parts, ", ")
}

func newCancelReminderCommand(env *environ) *cobra.Command {
	reminderID := regexp.MustCompile(`^r[0-9a-f]{8}$`)
	return &cobra.Command{
		Use:               "cancel ID",
		Short:             "Cancel one reminder, or all reminders of an agent",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm reminders cancel a1b2c3\n  sm reminders cancel web",
		Args:              cobra.ExactArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) error {
			all, err := client.Reminders(cmd.Context(), "")
			if err != nil {
				return statusError(err)
			}
			agent := args[0]
			id := "all"
			for _, r := range all.Reminders {
				if r.ID == args[0] {
					agent = r.Agent
					id = r.ID
				}
			}
			if id == "all" && reminderID.MatchString(agent) {
				return fmt.Errorf("no such reminder; 'sm reminders' lists them")
			}
			gone, err := client.CancelReminder(cmd.Context(), agent, id)
			if err != nil {
				return statusError(err)
			}
			if len(gone.Reminders) == 0 {
				return fmt.Errorf(
					"%s has no reminder; 'sm reminders' lists them",
					quote(args[0]),
				)
			}
			return env.print("cancelled %d", len(gone.Reminders))
		}),
	}
}

func newResetRemindersCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:               "reset ID",
		Short:             "Reset an agent's reminder timers",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm reminders reset web",
		Args:              cobra.ExactArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) error {
			n, err := client.ResetReminders(cmd.Context(), args[0])
			if err != nil {
				return statusError(err)
			}
			return env.print("reset %d", n.Reset)
		}),
	}
}
