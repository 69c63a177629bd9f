package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/view"
	"sm/dashboards/page"
	"sm/dashboards/screen/plain"
	"sm/dashboards/top"
	"sm/dashboards/urgency"
	"sm/handoff/files"
	"sm/observer/api"
)

// statusRun is one call of sm status.
type statusRun struct {
	*environ
	observer         *api.Client
	json, all, watch bool
	sort, client     string
	limit            int
}

func newStatusCommand(env *environ) *cobra.Command {
	st := &statusRun{environ: env, sort: top.ByUrgency}
	cmd := command(`status [ID]
Show all sessions, or one in detail

Show one line for each session: first those waiting for a person, then active ones by the replies left until the
client compacts (┃ in the bar), then idle ones. Sessions without activity for longer than metrics.session_ttl are
only counted. ID is an agent's id, name or title, a session's UUID, or a unique prefix of at least 8 characters; it
shows one session in detail.

$ sm status
$ sm status --sort compactions --limit 10
$ sm status web
$ sm status --json | jq '.sessions[] | select(.pressure > 0.8) | .session'

--all list all sessions, not only recent ones
--client show only the sessions of <CLIENT>: claude or codex
--json print JSON in the format of GET /sessions
--limit list at most <N> sessions
--sort order by <HOW>: urgency, pressure, replies, name, activity or compactions
--watch refresh each second, until Ctrl-C
`, flags{
		"json":   &st.json,
		"all":    &st.all,
		"sort":   &st.sort,
		"client": &st.client,
		"limit":  &st.limit,
		"watch":  &st.watch,
	}, st.run)
	cmd.SuggestFor = []string{"stat"} // state is shorter, and rarely meant
	return cmd
}

func (st *statusRun) run(cmd *cobra.Command, args []string) (err error) {
	one := len(args) > 0
	unknown := top.CheckName("client", st.client, clientNames())
	empty := emptyFlag(cmd.Flags())
	err = top.CheckName("order", st.sort, top.Orders())
	switch {
	case err != nil:
		return usagef("--sort: %w", err)
	case empty != nil:
		return empty
	case unknown != nil:
		return usagef("--client: %w", unknown)
	case st.client != "" && one:
		return usagef("--client is for the list; leave out it or ID")
	case st.limit < 0:
		return usagef("--limit %d: give a number from 1, or 0 for no limit", st.limit)
	case st.watch && (st.json || one):
		return usagef("--watch shows the list alone; leave out --json and ID")
	case st.watch && !term.IsTerminal(st.Stdout):
		return absentf("--watch draws on a terminal, and this is none; leave it out")
	}
	if st.observer, err = st.environ.client(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	switch {
	case one:
		s, err := st.observer.Session(ctx, args[0])
		return st.answer(st.json, "session", s, err)
	case st.watch:
		return st.keepDrawing(ctx)
	}
	return st.list(ctx)
}

// agentNames completes an ID with names of agents and beginnings of ids.
func (env *environ) agentNames(
	cmd *cobra.Command,
	args []string,
	_ string,
) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	_, client, err := env.reach(cmd)
	if err != nil || len(args) > 0 {
		return nil, how
	}
	// A shell waits for the names.
	ctx, cancel := context.WithTimeout(cmd.Context(), 500*time.Millisecond)
	defer cancel()
	all, _ := client.RecentSessions(ctx, "")
	top.Sort(all.Sessions, top.ByUrgency, false)
	for _, s := range all.Sessions {
		names = append(names, cobra.CompletionWithDesc(
			plain.Line(s.ShortName()),
			plain.Line(s.DisplayName()+", "+s.Project+", "+page.Doing(&s)),
		))
	}
	return names, how
}

// client returns a client of the observer for a command. It resets the
// reminders of the calling agent, as a command shows that the agent is active.
func (env *environ) client(cmd *cobra.Command) (*api.Client, error) {
	_, client, err := env.reach(cmd)
	if err != nil {
		return nil, err
	}
	if agent := env.Origin(time.Now()).Agent; agent != "" {
		// The command itself reports a missing observer or agent.
		_, _ = client.ResetReminders(cmd.Context(), agent)
	}
	return client, nil
}

// asking returns the run function of a command that queries the observer.
func (env *environ) asking(
	run func(ctx context.Context, client *api.Client, args []string) error,
) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		client, err := env.client(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), client, args)
	}
}

// ask returns all sessions or the recent ones, with --client only those of that
// client.
func (st *statusRun) ask(ctx context.Context, every bool) (all api.Sessions, err error) {
	if every {
		all, err = st.observer.Sessions(ctx)
	} else {
		all, err = st.observer.RecentSessions(ctx, st.client)
	}
	all.Sessions = top.OnlyClient(all.Sessions, st.client)
	top.Sort(all.Sessions, st.sort, false)
	return all, err
}

// list prints the list once.
func (st *statusRun) list(ctx context.Context) error {
	all, err := st.ask(ctx, st.all || st.json)
	switch {
	case err != nil:
		return err
	case st.json:
		all.Sessions = st.first(all.Sessions)
		return writeJSON(st.Stdout, all)
	case len(all.Sessions)+all.Others == 0 && st.client != "":
		return st.print("no sessions of %s", st.client)
	case all.CatchingUp:
		st.note("the observer is still reading what existed when it started; ask again in a moment")
	}
	return st.write(st.printer(), all)
}

// first returns as many sessions as --limit allows.
func (st *statusRun) first(list []api.Session) []api.Session {
	return list[:min(cmp.Or(st.limit, len(list)), len(list))]
}

// write prints the list, and how many are left out.
func (st *statusRun) write(to *view.Printer, all api.Sessions) error {
	if all.Demo {
		fmt.Fprintln(to, demoNotice)
	}
	if line := urgency.Notices(&all); line != "" {
		fmt.Fprintln(to, line)
	}
	if spent := top.Spent(&all, time.Now(), to.Columns, to.Colour); spent != "" {
		fmt.Fprintln(to, spent)
	}
	left := func(s api.Session) bool { return s.State == "left" }
	list := slices.DeleteFunc(all.Sessions, left)
	shown := st.first(list)
	if len(shown) > 0 {
		table := top.Table{Width: to.Columns, Colour: to.Colour, Mixed: !all.NotWarned}
		if err := table.Write(to, shown, time.Now()); err != nil {
			return err
		}
	} else if all.Others == 0 {
		fmt.Fprintln(to, "no sessions yet")
	}
	if more := len(list) - len(shown); more > 0 {
		fmt.Fprintf(to, "+%d more, --limit 0\n", more)
	}
	if all.Others > 0 {
		fmt.Fprintf(to, "+%d older, --all\n", all.Others)
	}
	return nil
}

// keepDrawing draws the list each second until ctx ends.
func (st *statusRun) keepDrawing(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for first := true; ; first = false {
		all, err := st.ask(ctx, st.all)
		if ctx.Err() != nil {
			return nil // Ctrl-C is the usual end
		}
		if err != nil {
			return err
		}
		var b bytes.Buffer
		to := st.printer()
		to.Writer = &b
		if err := st.write(to, all); err != nil {
			return err
		}
		screen := term.Redraw(b.String(), term.Lines(st.Stdout), first)
		if _, err := io.WriteString(st.Stdout, screen); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// writeLines writes a line of JSON for each element.
func writeLines[V any](w io.Writer, list []V) error {
	for _, v := range list {
		if err := writeJSON(w, v); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes v on one line. It escapes characters that control a terminal
// or are invisible: DEL, C1 controls, and formats such as marks of the
// direction of text.
func writeJSON(w io.Writer, v any) error {
	text, err := files.Encode(v, nil)
	if err != nil {
		return err
	}
	var line strings.Builder
	for _, r := range string(text) {
		if !unicode.In(r, unicode.Cc, unicode.Cf) {
			line.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&line, `\u%04x`, unit)
		}
	}
	_, err = fmt.Fprintln(w, line.String())
	return err
}
