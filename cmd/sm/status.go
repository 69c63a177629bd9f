package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/observer/api"
)

// statusOptions are the flags of 'sm status'.
type statusOptions struct {
	json, all, watch bool
	sort, client     string
	limit            int
}

// check validates the flags and returns the order. one means that a session is
// given.
func (o *statusOptions) check(
	flags *pflag.FlagSet,
	one bool,
	stdout io.Writer,
) (top.Order, error) {
	order, err := top.ParseOrder(o.sort)
	switch {
	case err != nil:
		return order, usagef("--sort: %w", err)
	case emptyFlag(flags) != "":
		return order, usagef("--%s is empty", emptyFlag(flags))
	case top.ParseClient(o.client, clientNames()) != nil:
		return order, usagef("--client: %w", top.ParseClient(o.client, clientNames()))
	case o.client != "" && one:
		return order, usagef("--client is for the list; leave out it or ID")
	case o.limit < 0:
		return order, usagef("--limit %d: give a number from 1, or 0 for no limit", o.limit)
	case o.watch && (o.json || one):
		return order, usagef("--watch shows the list alone; leave out --json and ID")
	case o.watch && !term.IsTerminal(stdout):
		return order, absentf("--watch draws on a terminal, and this is none; leave it out")
	}
	return order, nil
}

func newStatusCommand(env *environ) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:        "status [ID]",
		Short:      "Show all sessions, or one in detail",
		SuggestFor: []string{"stat"}, // state is shorter, and rarely meant
		Long: "Show one line for each session: first those waiting for a person, then active ones by the replies left until the\n" +
			"client compacts (┃ in the bar), then idle ones. Sessions without activity for longer than metrics.session_ttl are\n" +
			"only counted. ID is an agent's id or name, a session's UUID, or a unique prefix of at least 8 characters; it shows\n" +
			"one session in detail.",
		Example:           "  sm status\n  sm status --sort compactions --limit 10\n  sm status web\n  sm status --json | jq '.sessions[] | select(.pressure > 0.8) | .session'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeAgents(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := o.check(cmd.Flags(), len(args) > 0, env.Stdout)
			if err != nil {
				return err
			}
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			st := statusRun{env, client, o, order}
			switch {
			case len(args) == 1:
				return st.one(cmd.Context(), args[0])
			case o.watch:
				return st.watch(cmd.Context())
			}
			return st.all(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.json, "json", false, "print JSON in the format of GET /sessions")
	flags.BoolVar(&o.all, "all", false, "list all sessions, not only recent ones")
	flags.StringVar(
		&o.sort,
		"sort",
		top.ByUrgency.String(),
		"order by `HOW`: urgency, pressure, replies, name, activity or compactions",
	)
	_ = cmd.RegisterFlagCompletionFunc(
		"sort",
		cobra.FixedCompletions(top.Orders(), cobra.ShellCompDirectiveNoFileComp),
	)
	clientFlag(cmd, &o.client)
	flags.IntVar(&o.limit, "limit", 0, "list at most `N` sessions")
	flags.BoolVar(&o.watch, "watch", false, "refresh each second, until Ctrl-C")
	return cmd
}

// completeWithin is how long a shell waits for the names of agents.
const completeWithin = 500 * time.Millisecond

// completeAgents completes the first argument of a command with the agents that it can mean, by name or by the beginning
// of an id.
func completeAgents(env *environ) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		_, client, err := env.reach(cmd)
		if err != nil || len(args) > 0 {
			return nil, how
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		all, err := client.RecentSessions(ctx, "")
		if err != nil {
			return nil, how
		}
		top.Sort(all.Sessions, top.ByUrgency)
		for i := range all.Sessions {
			s := &all.Sessions[i]
			names = append(
				names,
				cobra.CompletionWithDesc(
					screen.OneLine(s.ShortName()),
					screen.OneLine(s.Project+" "+s.State),
				),
			)
		}
		return names, how
	}
}

// client is how a command asks the observer. An agent that asks shows that it is at work: its reminders begin anew.
func (env *environ) client(cmd *cobra.Command) (*api.Client, error) {
	_, client, err := env.reach(cmd)
	if err != nil {
		return nil, err
	}
	if agent := env.caller().Origin(time.Now()).Agent; agent != "" {
		_, _ = client.ResetReminders(
			cmd.Context(),
			agent,
		) // the command itself reports a missing observer or agent
	}
	return client, nil
}

// asking runs a command whose first step is to reach the observer.
func (env *environ) asking(run func(cmd *cobra.Command, client *api.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := env.client(cmd)
		if err != nil {
			return err
		}
		return run(cmd, client, args)
	}
}

// statusRun is one call of sm status.
type statusRun struct {
	*environ
	client  *api.Client
	options statusOptions
	order   top.Order
}

// ask asks for all sessions or the recent ones, of one client where the user has named one.
func (st statusRun) ask(ctx context.Context, every bool) (all api.Sessions, err error) {
	if every {
		all, err = st.client.Sessions(ctx)
	} else {
		all, err = st.client.RecentSessions(ctx, st.options.client)
	}
	all.Sessions = top.OnlyClient(all.Sessions, st.options.client)
	return all, err
}

// all prints the list once.
func (st statusRun) all(ctx context.Context) error {
	o := &st.options
	all, err := st.ask(ctx, o.all || o.json)
	if err != nil {
		return statusError(err)
	}
	if o.json {
		return writeJSON(st.Stdout, all)
	}
	if len(all.Sessions)+all.Others == 0 && o.client != "" {
		fmt.Fprintf(st.Stdout, "no sessions of %s\n", o.client)
		return nil
	}
	if all.CatchingUp {
		st.say("the observer is still reading what existed when it started; ask again in a moment")
	}
	return st.printer().writeStatus(all, st.order, o.limit)
}

// writeStatus prints the list, and how many are left out.
func (to *printer) writeStatus(all api.Sessions, order top.Order, limit int) error {
	if all.Demo {
		fmt.Fprintln(to, demoNotice)
	}
	if all.NotWarned {
		fmt.Fprintln(to, api.NotWarnedNotice)
	}
	if spent := top.Spent(&all, time.Now(), to.Columns, to.Colour); spent != "" {
		fmt.Fprintln(to, spent)
	}
	list := slices.DeleteFunc(
		all.Sessions,
		func(s api.Session) bool { return s.State == "left" },
	)
	top.Sort(list, order)
	more := 0
	if limit > 0 && len(list) > limit {
		more = len(list) - limit
		list = list[:limit]
	}
	if len(list) > 0 {
		if err := (top.Table{
			Width:  to.Columns,
			Colour: to.Colour,
		}).Write(to, list, time.Now()); err != nil {
			return err
		}
	} else if all.Others == 0 {
		fmt.Fprintln(to, "no sessions yet")
	}
	if more > 0 {
		fmt.Fprintf(to, "+%d more, --limit 0\n", more)
	}
	if all.Others > 0 {
		fmt.Fprintf(to, "+%d older, --all\n", all.Others)
	}
	return nil
}

// watch draws the list each second until ctx ends.
func (st statusRun) watch(ctx context.Context) error {
	o := &st.options
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for first := true; ; first = false {
		all, err := st.ask(ctx, o.all)
		if ctx.Err() != nil {
			return nil // Ctrl-C, as it is meant to end
		}
		if err != nil {
			return statusError(err)
		}
		var b bytes.Buffer
		to := st.printer()
		to.Writer = &b
		if err := to.writeStatus(all, st.order, o.limit); err != nil {
			return err
		}
		if _, err := io.WriteString(
			st.Stdout,
			term.Redraw(b.String(), term.Lines(st.Stdout), first),
		); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// one prints all about one session.
func (st statusRun) one(ctx context.Context, id string) error {
	s, err := st.client.Session(ctx, id)
	if err != nil {
		return statusError(err, id)
	}
	if st.options.json {
		return writeJSON(st.Stdout, s)
	}
	return st.printer().writeSession(s, time.Now())
}

// shortestPrefix is how much of a session's UUID has to be given at least.
const shortestPrefix = 8

// statusError sets the exit code of an error: a missing observer and an unknown
// session differ from failures. id is the session of the command, if any.
func statusError(err error, id ...string) error {
	if errors.Is(err, api.ErrNoObserver) {
		return absentf("%w", err)
	}
	if status, ok := errors.AsType[*api.StatusError](err); ok &&
		status.Code == http.StatusNotFound {
		if len(id) == 1 && len(id[0]) < shortestPrefix &&
			strings.Trim(id[0], "0123456789abcdef") == "" {
			return absentf(
				"%s is too short: give at least %d characters, or the agent's name; 'sm status' lists them",
				id[0],
				shortestPrefix,
			)
		}
		return absentf("no such session; 'sm status' lists them")
	}
	return err
}

// writeJSON writes v on one line. Characters that a terminal would obey, or that do not
// show, are escaped: DEL, C1 controls, and marks such as those of the direction of text.
func writeJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}

	var line strings.Builder
	for _, r := range strings.TrimSuffix(text.String(), "\n") {
		switch {
		case r > 0xffff && unicode.Is(unicode.Cf, r):
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&line, `\u%04x\u%04x`, high, low)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&line, `\u%04x`, r)
		default:
			line.WriteRune(r)
		}
	}
	_, err := io.WriteString(w, line.String()+"\n")
	return err
}

// writeSession prints all about one session, a line each.
func (to *printer) writeSession(s api.Session, now time.Time) error {
	t := term.Table{Headers: []string{"agent", s.ID}, Wrap: to.Wrap}
	for _, f := range top.Fields(s, now)[1:] {
		t.Add(f[0], f[1])
	}
	return t.Write(to)
}
