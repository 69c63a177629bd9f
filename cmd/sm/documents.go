package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/handoff"
)

func newDocumentsCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "documents",
		Short: "Show the handoff documents, those that wait and those that were heard",
		Long: "List the handoff documents of all channels: what waits for a session (active), what was heard (consumed), what became\n" +
			"too old (expired) and what was taken back (cleared). No observer is needed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			docs, err := env.documents(cmd)
			if err != nil {
				return err
			}
			now := time.Now()
			all, err := docs.List(now)
			if asJSON {
				return errors.Join(writeJSON(env.stdout, documentList{append([]handoff.Document{}, all...)}), err)
			}
			return errors.Join(env.writeDocuments(all, now), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.PersistentFlags().String("state", "", "those of an observer that keeps its state in `DIR`")
	configFlag(cmd.PersistentFlags(), "state", "state")
	cmd.AddCommand(newShowDocumentCommand(env), newClearDocumentsCommand(env))
	return cmd
}

type documentList struct {
	Documents []handoff.Document `json:"documents"`
}

// documents are those of the configured folder.
func (env *environ) documents(cmd *cobra.Command) (*handoff.Documents, error) {
	cfg, err := loadConfig(cmd.Flags(), env)
	if err != nil {
		return nil, err
	}
	dir, err := handoffDir(cfg, env)
	if err != nil {
		return nil, err
	}
	return handoff.NewDocuments(dir, cfg.Handoff.Expiry, env.plainLog()), nil
}

// handoffDir is where handoff documents are kept.
func handoffDir(cfg *config, env *environ) (string, error) {
	if cfg.Handoff.Directory != "" {
		return cfg.Handoff.Directory, nil
	}
	state, err := stateDir(cfg, env)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "handoff"), nil
}

func (env *environ) writeDocuments(all []handoff.Document, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.stdout, "no handoff documents")
		return err
	}
	colours := map[handoff.Status]string{handoff.StatusActive: yellow, handoff.StatusConsumed: dim, handoff.StatusExpired: dim, handoff.StatusCleared: dim}
	t := table{headers: []string{"CHANNEL", "STATUS", "TYPE", "AGENT", "FOR", "WRITTEN", "ID"}, colour: env.colours(env.stdout)}
	for _, d := range all {
		mark := ""
		if d.Current {
			mark = " (current)"
		}
		t.add(cell{oneLine(d.Channel), ""}, cell{oneLine(string(d.Status)), colours[d.Status]}, cell{oneLine(string(d.Type)), ""},
			cell{shortName(cmp.Or(d.Agent, "–"), 20), ""}, cell{shortName(cmp.Or(d.ClaimedBy, "–"), 20), ""}, cell{ago(&d.CreatedAt, now), dim}, cell{oneLine(d.ID) + mark, ""})
	}
	return t.write(env.stdout)
}

func newShowDocumentCommand(env *environ) *cobra.Command {
	return channelCommand(&cobra.Command{
		Use:   "show CHANNEL",
		Short: "Print the current document of a channel",
	}, func(cmd *cobra.Command, channel string) error {
		docs, err := env.documents(cmd)
		if err != nil {
			return err
		}
		d, ok, err := docs.Current(channel, time.Now())
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("channel %s has no handoff document; 'sm documents' lists them", quote(channel))
		}
		if terminal(env.stdout) {
			d.Body = handoff.Clean(d.Body) // what an agent wrote must not move the cursor
		}
		_, err = io.WriteString(env.stdout, d.Body)
		return err
	})
}

func newClearDocumentsCommand(env *environ) *cobra.Command {
	return channelCommand(&cobra.Command{
		Use:   "clear CHANNEL",
		Short: "Take back the documents of a channel, so that no session gets them",
	}, func(cmd *cobra.Command, channel string) error {
		docs, err := env.documents(cmd)
		if err != nil {
			return err
		}
		n, err := docs.Clear(channel, time.Now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "cleared %d\n", n)
		return err
	})
}

// channelCommand makes a command whose one argument is a channel. The names of projects
// begin with a dash: pflag would take them for flags, so they are told from flags here.
func channelCommand(cmd *cobra.Command, run func(cmd *cobra.Command, channel string) error) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asksForHelp(args) {
			return cmd.Help()
		}
		flags := cmd.Flags()
		flags.AddFlagSet(cmd.InheritedFlags())
		if err := flags.Parse(channelsLast(args)); err != nil {
			return usagef("%w", err)
		}
		if flags.NArg() != 1 || flags.Arg(0) == "" {
			return usagef("give one channel, not %d", flags.NArg())
		}
		return run(cmd, flags.Arg(0))
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
