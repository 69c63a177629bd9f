package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/handoff"
	"sm/observer/api"
)

func newDocumentsCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`documents
Show handoff documents

List the handoff documents of all channels: active (waiting for a session), consumed (read by a session), expired and
cleared (withdrawn). The list comes from the observer; without one, or with --state, from the files.

$ sm documents
$ sm documents show -home-me-web

--json print JSON
--state read the documents of the state directory <DIR>
`, flags{
		"json": &asJSON,
	}, func(cmd *cobra.Command, _ []string) error {
		docs, err := env.documents(cmd)
		if err != nil {
			return err
		}
		all, err := docs.List(time.Now())
		list := api.Documents{Documents: append([]handoff.Document{}, all...)}
		return errors.Join(env.answer(asJSON, "documents", list, nil), err)
	},
		command(`show CHANNEL
Print the current document of a channel

$ sm documents show -home-me-web
`, nil, env.onChannel(env.showDocument)),
		command(`clear CHANNEL
Withdraw the documents of a channel

$ sm documents clear -home-me-web
`, nil, env.onChannel(env.clearDocuments)),
	)
}

// A documentSource provides handoff documents: it is the observer, or files.
type documentSource interface {
	List(now time.Time) ([]handoff.Document, error)
	Current(channel string) (doc handoff.Document, ok bool, err error)
	Clear(channel string, now time.Time) (n int, err error)
}

// documents returns the observer as the source of documents: it may use another
// directory than the one of this configuration. If no observer answers, or with
// --state, it returns the files of the configured directory.
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
	observer := &observerDocuments{ctx: cmd.Context(), client: client}
	if _, err := observer.List(time.Now()); errors.Is(err, api.ErrNoObserver) {
		env.note("no observer answers for its documents; these are the files in %s", dir)
		return files, nil
	}
	return observer, nil
}

// observerDocuments requests the documents from the observer.
type observerDocuments struct {
	ctx    context.Context // of the command
	client *api.Client
}

// List, Current and Clear do the same as the methods of [handoff.Documents].
func (a *observerDocuments) List(time.Time) ([]handoff.Document, error) {
	return a.client.Documents(a.ctx)
}

func (a *observerDocuments) Current(channel string) (doc handoff.Document, ok bool, err error) {
	answer, err := a.client.Document(a.ctx, channel)
	answer.Document.Body = answer.Body
	return answer.Document, err == nil, absent(err)
}

func (a *observerDocuments) Clear(channel string, _ time.Time) (n int, err error) {
	answer, err := a.client.ClearDocuments(a.ctx, channel)
	return answer.Cleared, absent(err)
}

// handoffDir returns the directory of the handoff documents.
func handoffDir(cfg *config.Config, env *environ) (string, error) {
	if cfg.Handoff.Directory != "" {
		return cfg.Handoff.Directory, nil
	}
	state, err := env.StateDir(cfg.State)
	return filepath.Join(state, "handoff"), err
}

func (env *environ) showDocument(docs documentSource, channel string) error {
	d, ok, err := docs.Current(channel)
	if err != nil {
		return err
	}
	if !ok {
		return absentf(
			"channel %s has no handoff document; 'sm documents' lists them",
			quote(channel),
		)
	}
	text := string([]rune(d.Body)) // invalid UTF-8 becomes U+FFFD
	if term.IsTerminal(env.Stdout) {
		text = handoff.Clean(text) // the agent's text must not move the cursor
	}
	_, err = io.WriteString(env.Stdout, text)
	return err
}

func (env *environ) clearDocuments(docs documentSource, channel string) error {
	n, err := docs.Clear(channel, time.Now())
	if err != nil {
		return err
	}
	return env.print("cleared %d", n)
}

// onChannel returns the run function of a command whose argument is a channel.
func (env *environ) onChannel(run func(docs documentSource, channel string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if args[0] == "" {
			return usagef("the channel has no name")
		}
		docs, err := env.documents(cmd)
		if err != nil {
			return err
		}
		return run(docs, args[0])
	}
}

// channelsLast moves channels behind the flags. The channel of a project begins
// with a dash, so pflag would parse it as a flag.
func channelsLast(args []string) []string {
	var flags, channels []string
	for i, arg := range args {
		if arg == "--" {
			channels = append(channels, args[i+1:]...)
			break
		}
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			channels = append(channels, arg)
		} else {
			flags = append(flags, arg)
		}
	}
	return slices.Concat(flags, []string{"--"}, channels)
}
