package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
	sockets, err := socketPaths(cfg, env)
	if err != nil {
		return nil, err
	}
	client := api.NewClient(sockets)
	if agent := env.origin(time.Now()).Agent; agent != "" {
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
	t := table{headers: []string{"agent", s.ID}}
	for _, f := range sessionFields(s, now)[1:] {
		t.add(cell{f[0], ""}, cell{oneLine(f[1]), ""})
	}
	return t.write(w)
}

// sessionFields are all that is known about a session: names and values as they came, the agent's id first.
func sessionFields(s api.Session, now time.Time) (fields [][2]string) {
	context := "unknown until the next reply"
	if s.TokensUsed != nil && s.UsedPercentage != nil {
		context = fmt.Sprintf("%s %d%%, %d of %d tokens (%s)", bar(*s.UsedPercentage), *s.UsedPercentage, *s.TokensUsed, s.WindowTokens, s.Level)
	}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	fields = append(fields, [2]string{"agent", s.ID})
	add("name", s.Name)
	add("in metrics", s.Label)
	add("parent", s.ParentID)
	add("provider", s.Provider)
	add("pane", s.Pane)
	add("session", s.SessionID)
	add("project", s.Project)
	add("directory", s.CWD)
	add("transcript", s.TranscriptPath)
	add("model", s.Model)
	add("client version", s.Version)
	add("state", s.State)
	if !s.Enabled {
		add("notices", "off")
	}
	add("context", context)
	add("window", fmt.Sprintf("%d tokens, by %s", s.WindowTokens, s.WindowSource))
	add("largest context", fmt.Sprintf("%d tokens", s.PeakTokens))
	if s.ReadingAt != nil {
		add("last reading", ago(s.ReadingAt, now)+", by "+cmp.Or(s.ContextSource, "transcript"))
	}
	add("cross-check", crossCheckText(s))
	for _, f := range sessionPast(s, now) {
		add(f[0], f[1])
	}
	return fields
}

// sessionPast is what a session has done, and what comes of it; an empty value is none.
func sessionPast(s api.Session, now time.Time) (fields [][2]string) {
	add := func(name, value string) { fields = append(fields, [2]string{name, value}) }
	add("status line", ago(s.StatuslineAt, now))
	add("last hook", ago(s.HookAt, now))
	add("compactions", compactionsText(s))
	if s.IsCompacting {
		add("compacting", "now")
	}
	if s.ThresholdTokens != nil {
		add("compacted at", fmt.Sprintf("%d tokens", *s.ThresholdTokens))
	}
	add("forecast", forecastText(s.Forecast))
	add("cycle", fmt.Sprint(s.Cycle))
	add("handoff", handoffText(s))
	if s.Queued > 0 {
		add("messages waiting", fmt.Sprint(s.Queued))
	}
	add("turns", fmt.Sprint(s.Turns))
	add("messages", fmt.Sprintf("%d: %s", s.Messages, costText(s.Tokens)))
	if s.Subagents.Messages > 0 || s.Subagents.Files > 0 {
		add("subagents", fmt.Sprintf("%d files, %d messages: %s", s.Subagents.Files, s.Subagents.Messages, costText(s.Subagents.Tokens)))
	}
	if s.StartedAt != nil {
		add("started", s.StartedAt.Local().Format(time.DateTime))
	}
	add("last activity", ago(s.LastActive, now))
	return fields
}

// crossCheckText says how the status line agrees with the transcript.
func crossCheckText(s api.Session) string {
	switch {
	case s.CrossCheck == "drift" && s.DriftTokens != nil:
		return fmt.Sprintf("the status line tells %+d tokens; see sm doctor", *s.DriftTokens)
	case s.CrossCheck == "":
		return "–"
	}
	return s.CrossCheck
}

// handoffText says what there is of handoffs, and what keeps the agent from another.
func handoffText(s api.Session) string {
	var parts []string
	if s.Handoff != "" {
		parts = append(parts, s.Handoff)
	}
	if s.LastHandoff != nil {
		parts = append(parts, "last with "+*s.LastHandoff)
	}
	switch s.Brake {
	case "breaker":
		parts = append(parts, "the next would be refused: too many in a short time")
	case "futile":
		parts = append(parts, "another would be refused: this context stood above the warning from its start")
	}
	return strings.Join(parts, "; ")
}

func forecastText(f *api.Forecast) string {
	if f == nil {
		return ""
	}
	var parts []string
	if t := f.Turns; t != nil {
		parts = append(parts, fmt.Sprintf("compaction in about %.0f turns (%.0f to %.0f)", t.Likely, t.Low, t.High))
	}
	if t := f.Seconds; t != nil {
		parts = append(parts, fmt.Sprintf("%.0f min of work (%.0f to %.0f)", t.Likely/60, t.Low/60, t.High/60))
	}
	return strings.Join(parts, ", ")
}

func costText(t api.Tokens) string {
	return fmt.Sprintf("%s input, %s cache creation, %s cache read, %s output",
		tokensText(t.Input), tokensText(t.CacheCreation), tokensText(t.CacheRead), tokensText(t.Output))
}
