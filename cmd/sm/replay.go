package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/alerts"
	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/view"
	"sm/observer/history"
	"sm/observer/history/replay"
	"sm/observer/history/tune"
)

func newReplayCommand(env *environ) *cobra.Command {
	var asJSON, asGrid, verbose bool
	var warning, critical int
	cmd := &cobra.Command{
		Use:   "replay [PATH]...",
		Short: "Replay transcripts and show which notices they would have produced",
		Long: "Run the observer's alert rules over the transcripts in and below each PATH, by default all of this user: which notices\n" +
			"they would have produced, and which compactions came without a warning. No observer is needed; nothing is sent.\n" + view.GridHelp,
		Example: "  sm replay --warning 60 --critical 75\n  sm replay --grid              # which thresholds would have been best",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, paths, err := env.transcripts(cmd, args)
			if err != nil {
				return err
			}
			o := alertOptions(cfg)
			if err := setThresholds(
				cmd.Flags(),
				&o.Thresholds,
				warning,
				critical,
			); err != nil {
				return err
			}
			if asGrid {
				return env.runGrid(cmd.Context(), cfg, o, paths, asJSON, verbose)
			}
			ro, end := env.reading()
			changes, err := history.Records(cmd.Context(), ro, paths)
			end()
			if history.Fatal(err) {
				return unread(err)
			}
			events, bad := replay.Run(cmd.Context(), changes, replay.Options{
				Policy:  o,
				Windows: windowRules(cfg),
				Clients: ro.Clients,
				Now:     time.Now(),
			})
			if bad != nil {
				return fmt.Errorf("%w; check the thresholds", bad)
			}
			if !asJSON {
				return errors.Join(env.printer().WriteReplay(events), err)
			}
			for _, e := range events {
				if err := writeJSON(env.Stdout, e); err != nil {
					return err
				}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(
		&asJSON,
		"json",
		false,
		"print one JSON object per line for each notice and compaction; for a grid, one object",
	)
	cmd.Flags().BoolVar(&asGrid, "grid", false, "try thresholds and choose some")
	cmd.Flags().BoolVar(
		&verbose,
		"verbose",
		false,
		"with --grid, print all thresholds that were tried and how they compare",
	)
	cmd.Flags().IntVar(
		&warning,
		"warning",
		0,
		"warn at `P` percent of the window instead of the configured threshold",
	)
	cmd.Flags().IntVar(&critical, "critical", 0, "the same for the critical notice")
	return cmd
}

// setThresholds puts the percentages that flags give in the place of configured thresholds.
func setThresholds(flags *pflag.FlagSet, t *alerts.Thresholds, warning, critical int) error {
	if flags.Changed("warning") {
		t.WarningPercentage = warning
		t.WarningTokens = 0
		t.WarningOfThreshold = 0
	}
	if flags.Changed("critical") {
		t.CriticalPercentage = critical
		t.CriticalTokens = 0
		t.CriticalOfThreshold = 0
	}
	if t.CriticalTokens == 0 && t.WarningTokens == 0 &&
		(t.WarningPercentage < 0 || t.CriticalPercentage > 100 ||
			t.CriticalPercentage < t.WarningPercentage) {
		return usagef(
			"--warning %d and --critical %d: give percentages of 0 to 100, the critical one not below the other",
			t.WarningPercentage,
			t.CriticalPercentage,
		)
	}
	return nil
}

// runGrid tries thresholds on all transcripts in paths and prints the result.
func (env *environ) runGrid(
	ctx context.Context,
	cfg *config.Config,
	o alerts.Options,
	paths []string,
	asJSON, verbose bool,
) error {
	h, err := env.history(ctx, paths)
	if h == nil {
		return err
	}
	g, bad := tune.Try(ctx, h, tune.Options{
		Policy:     o,
		Configured: alertOptions(cfg).Thresholds,
		Windows:    windowRules(cfg),
		Now:        time.Now(),
	})
	switch {
	case bad != nil:
		return fmt.Errorf("%w; check the thresholds", bad)
	case asJSON:
		return errors.Join(writeJSON(env.Stdout, g), err)
	}
	return errors.Join(env.printer().WriteGrid(g, verbose), err)
}
