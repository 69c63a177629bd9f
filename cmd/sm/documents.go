package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/handoff"
	"sm/observer/api"
)

func newDocumentsCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "documents",
		Short: "Show handoff documents",
		Long: "List the handoff documents of all channels: active (waiting for a session), consumed (read by a session), expired and\n" +
			"cleared (withdrawn). The list comes from the observer; without one, or with --state, from the files.",
		Example: "  sm documents\n  sm documents show -home-me-web",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			docs, err := env.documents(cmd)
			if err != nil {
				return err
			}
			now := time.Now()
			all, err := docs.List(now)
			if asJSON {
				return errors.Join(
					writeJSON(env.Stdout, documentList{append([]handoff.Document{}, all...)}),
					err,
				)
			}
			return errors.Join(env.printer().writeDocuments(all, now), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.PersistentFlags().String(
		"state",
		"",
		"read the documents of the state directory `DIR`",
	)
	config.BindFlag(cmd.PersistentFlags(), "state", "state")
	cmd.AddCommand(newShowDocumentCommand(env), newClearDocumentsCommand(env))
	return cmd
}

type documentList struct {
	Documents []handoff.Document `json:"documents"`
}

// documentSource is who knows the documents.
type documentSource interface {
	List(now time.Time) ([]handoff.Document, error)
	Current(channel string, now time.Time) (doc handoff.Document, ok bool, err error)
	Clear(channel string, now time.Time) (n int, err error)
}

// documents are those that the observer has: it may run with another folder than this command would find. Without an
// observer, and with --state, they are those of the configured folder.
func (env *environ) documents(cmd *cobra.Command) (documentSource, error) {
	cfg, err := env.config(cmd)
	if err != nil {
		return nil, err
	}
	dir, err := handoffDir(cfg, env)
	if err != nil {
		return nil, err
	}
	files := handoff.NewDocuments(dir, cfg.Handoff.Expiry, plainLog(env.Stderr))
	if cmd.Flags().Changed("state") {
		return files, nil
	}
	client, err := env.client(cmd)
	if err != nil {
		return nil, err
	}
	asked := &askedDocuments{ctx: cmd.Context(), client: client}
	if _, err := asked.List(time.Now()); errors.Is(err, api.ErrNoObserver) {
		env.say("no observer answers for its documents; these are the files in %s", dir)
		return files, nil
	}
	return asked, nil
}

// askedDocuments are the observer's.
type askedDocuments struct {
	ctx    context.Context // of the one command that asks
	client *api.Client
}

// List is that of handoff.Documents, as the other two are.
func (a *askedDocuments) List(time.Time) ([]handoff.Document, error) {
	var answer struct {
		documentList
		Problem string `json:"problem"`
	}
	text, err := a.client.Raw(a.ctx, "/documents")
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err == nil && answer.Problem != "" {
		err = errors.New(screen.OneLine(answer.Problem))
	}
	return answer.Documents, err
}

func (a *askedDocuments) Current(
	channel string,
	_ time.Time,
) (doc handoff.Document, ok bool, err error) {
	var answer struct {
		handoff.Document
		Body string `json:"body"`
	}
	err = a.client.Document(a.ctx, channel, &answer)
	if status, is := errors.AsType[*api.StatusError](err); is &&
		status.Code == http.StatusNotFound {
		return doc, false, nil
	}
	doc, doc.Body = answer.Document, answer.Body
	return doc, err == nil, err
}

func (a *askedDocuments) Clear(channel string, _ time.Time) (n int, err error) {
	return a.client.ClearDocuments(a.ctx, channel)
}

// handoffDir is where handoff documents are kept.
func handoffDir(cfg *config.Config, env *environ) (string, error) {
	if cfg.Handoff.Directory != "" {
		return cfg.Handoff.Directory, nil
	}
	state, err := cfg.StateDir(env.LookupEnv)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "handoff"), nil
}

func (to *printer) writeDocuments(all []handoff.Document, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(to.Writer, "no handoff documents")
		return err
	}
	colours := map[handoff.Status]string{
		handoff.StatusActive:   screen.Yellow,
		handoff.StatusConsumed: screen.Dim,
		handoff.StatusExpired:  screen.Dim,
		handoff.StatusCleared:  screen.Dim,
	}
	t := term.Table{
		Headers: []string{"CHANNEL", "STATUS", "TYPE", "AGENT", "FOR", "WRITTEN", "ID"},
		Colour:  to.Colour,
	}
	for _, d := range all {
		mark := ""
		if d.Current {
			mark = " (current)"
		}
		t.Add(d.Channel, term.Text(
			screen.OneLine(string(d.Status)),
			colours[d.Status],
		), string(d.Type),
			screen.FitEnd(
				cmp.Or(d.Agent, "–"),
				20,
			), screen.FitEnd(
				cmp.Or(d.ClaimedBy, "–"),
				20,
			), term.Text(
				screen.Ago(&d.CreatedAt, now),
				screen.Dim,
			), screen.OneLine(d.ID)+mark)
	}
	return t.Write(to.Writer)
}

func newShowDocumentCommand(env *environ) *cobra.Command {
	return env.channelCommand(&cobra.Command{
		Use:     "show CHANNEL",
		Short:   "Print the current document of a channel",
		Example: "  sm documents show -home-me-web",
	}, func(docs documentSource, channel string) error {
		d, ok, err := docs.Current(channel, time.Now())
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf(
				"channel %s has no handoff document; 'sm documents' lists them",
				quote(channel),
			)
		}
		text := strings.Map(
			func(r rune) rune { return r },
			d.Body,
		) // a byte that is not UTF-8 becomes U+FFFD
		if term.IsTerminal(env.Stdout) {
			text = handoff.Clean(text) // what an agent wrote must not move the cursor
		}
		_, err = io.WriteString(env.Stdout, text)
		return err
	})
}

func newClearDocumentsCommand(env *environ) *cobra.Command {
	return env.channelCommand(&cobra.Command{
		Use:     "clear CHANNEL",
		Short:   "Withdraw the documents of a channel",
		Example: "  sm documents clear -home-me-web",
	}, func(docs documentSource, channel string) error {
		n, err := docs.Clear(channel, time.Now())
		if err != nil {
			return err
		}
		return env.print("cleared %d", n)
	})
}

// channelCommand makes a command with a channel as its only argument. Channels
// of projects begin with a dash, which pflag would take for a flag.
func (env *environ) channelCommand(
	cmd *cobra.Command,
	run func(docs documentSource, channel string) error,
) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if hooks.AskForHelp(args) {
			return cmd.Help()
		}
		flags := cmd.Flags()
		flags.AddFlagSet(cmd.InheritedFlags())
		if err := flags.Parse(channelsLast(args)); err != nil {
			return usagef("%w", err)
		}
		if flags.NArg() != 1 {
			return usagef("give one channel, not %d", flags.NArg())
		}
		if flags.Arg(0) == "" {
			return usagef("the channel has no name")
		}
		docs, err := env.documents(cmd)
		if err != nil {
			return err
		}
		return run(docs, flags.Arg(0))
	}
	return cmd
}

// channelsLast puts what begins with one dash behind the flags.
func channelsLast(args []string) []string {
	var flags, channels []string
	for i, arg := range args {
		if arg == "--" {
			channels = append(channels, args[i+1:]...)
			break
		}
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
			channels = append(channels, arg)
		} else {
			flags = append(flags, arg)
		}
	}
	return slices.Concat(flags, []string{"--"}, channels)
}
