package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/observer/api"
)

func newRemindCommand(env *environ) *cobra.Command {
	var in, soft, hard string
	return command(`remind ID (--in TIME | [--soft TIME] [--hard TIME]) TEXT|-
Remind an agent at a time, or after a time without a reset

With --in the agent gets the text once. With --soft and --hard it gets the text when the reminder has not been reset
for that time: by a new cycle, any sm command of the agent, or 'sm reminders reset ID'. Times are like 10m, or
seconds. Reminders pause while the agent compacts. They are refused while sm only watches,
see 'sm doctor'.

$ sm remind web --in 10m "Look at CI."
$ sm remind web --soft 5m --hard 15m "Say how far you are."

--hard at once, after <TIME> without a reset
--in once, after <TIME>
--soft between two tool calls, after <TIME> without a reset
`, flags{
		"in":   &in,
		"soft": &soft,
		"hard": &hard,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
		var r api.NewReminder
		var err error
		r.In, err = seconds("in", in, err)
		r.Soft, err = seconds("soft", soft, err)
		r.Hard, err = seconds("hard", hard, err)
		if err != nil {
			return err
		}
		if (r.In > 0) == (r.Soft > 0 || r.Hard > 0) {
			return usagef("give --in, or --soft or --hard or both")
		}
		if r.Text, err = textArg(env.Stdin, args[1]); err != nil {
			return err
		}
		r.From = env.Origin(time.Now()).Agent
		set, err := client.Remind(ctx, args[0], r)
		if err != nil {
			return err
		}
		return env.print("reminder %s for %s", set.ID, set.Agent)
	}))
}

// seconds parses the value of a flag, such as 10m or a number of seconds. It
// returns 0 for "", and an earlier error unchanged.
func seconds(name, value string, earlier error) (float64, error) {
	if value == "" || earlier != nil {
		return 0, earlier
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

// textArg returns the text of an argument, or that of standard input for "-".
// It reads at most 64 KiB, which the observer refuses as too long.
func textArg(stdin io.Reader, arg string) (string, error) {
	if arg == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, 64<<10))
		if err != nil {
			return "", fmt.Errorf("read the text: %w; give it as an argument", err)
		}
		arg = string(b)
	}
	arg = strings.TrimSpace(arg)
	if arg == "" {
		return "", usagef("the message is empty: give it a text")
	}
	return arg, nil
}

func newRemindersCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`reminders [ID]
Show the reminders of all agents, or of one

$ sm reminders
$ sm reminders web

--json print JSON in the format of GET /sessions/{id}/reminders
`, flags{
		"json": &asJSON,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
		list, err := client.Reminders(ctx, strings.Join(args, ""))
		return env.answer(asJSON, "reminders", list, err)
	}), command(`cancel ID
Cancel one reminder, or all reminders of an agent

$ sm reminders cancel a1b2c3
$ sm reminders cancel web
`, nil, env.asking(env.cancelReminders)),
		command(`reset ID
Reset an agent's reminder timers

$ sm reminders reset web
`, nil, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
			n, err := client.ResetReminders(ctx, args[0])
			if err != nil {
				return err
			}
			return env.print("reset %d", n.Reset)
		})))
}

// cancelReminders cancels the reminder with an id, or all reminders of an
// agent.
func (env *environ) cancelReminders(
	ctx context.Context,
	client *api.Client,
	args []string,
) error {
	all, err := client.Reminders(ctx, "")
	if err != nil {
		return err
	}
	agent := args[0]
	id := "all"
	for _, r := range all.Reminders {
		if r.ID == args[0] {
			agent = r.Agent
			id = r.ID
		}
	}
	if id == "all" && regexp.MustCompile(`^r[0-9a-f]{8}$`).MatchString(agent) {
		return absentf("no such reminder; 'sm reminders' lists them")
	}
	gone, err := client.CancelReminder(ctx, agent, id)
	if err != nil {
		return err
	}
	if len(gone.Reminders) == 0 {
		return fmt.Errorf("%s has no reminder; 'sm reminders' lists them", quote(args[0]))
	}
	return env.print("cancelled %d", len(gone.Reminders))
}
