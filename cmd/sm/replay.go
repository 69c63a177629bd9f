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
	"sm/observer/history"
	"sm/observer/history/replay"
	"sm/observer/history/tune"
)

func newReplayCommand(env *environ) *cobra.Command {
	var asJSON, asGrid, verbose bool
	var warning, critical int
	return command(`replay [PATH]...
Replay transcripts and show which notices they would have produced

Run the observer's alert rules over the transcripts in and below each PATH, by default all of this user: which notices
they would have produced, and which compactions came without a warning. No observer is needed; nothing is sent.

With --grid the thresholds themselves are tried: each notice in steps of 5 percent of the window and in steps of
tokens, by the observer's own engine. One pair is chosen and compared with the pair in force, or the one that --warning
and --critical give. Thresholds are judged by the window or by tokens alone: warning_of_threshold and
critical_of_threshold are ignored.

    measure   coverage x used - 0.25 x vain share
    coverage  of the compactions not made by hand, the share with a notice in time: a warning, which comes at the end
              of a turn, at least 2 turns ahead; a critical notice, which comes between tool calls, at least 10 replies
    used      how full the context was at that notice, as a share of its size at the compaction; the mean of all in time
    vain      of the cycles that ended without a compaction, a clear or a handoff, the share with a notice

Of the pairs whose measure is at most one standard error below the best, the one with the lowest critical notice is
chosen, with the best warning to it, in percent if there is one; with fewer than 10 compactions none is. A change is
advised if the chosen pair is better than the pair in force by more than its standard error.

A turn ahead is a prompt between notice and compaction. Minutes are those of work: a pause counts as 5 at most.
Percentages are of the window that a session turned out to have.

$ sm replay --warning 60 --critical 75
$ sm replay --grid              # which thresholds would have been best

--critical the same for the critical notice
--grid try thresholds and choose some
--json print one JSON object per line for each notice and compaction; for a grid, one object
--verbose with --grid, print all thresholds that were tried and how they compare
--warning warn at <P> percent of the window instead of the configured threshold
`, flags{
		"json":     &asJSON,
		"grid":     &asGrid,
		"verbose":  &verbose,
		"warning":  &warning,
		"critical": &critical,
	}, func(cmd *cobra.Command, args []string) error {
		if verbose && !asGrid {
			return usagef("--verbose is for --grid: add that, or leave it out")
		}
		cfg, paths, err := env.transcripts(cmd, args)
		if err != nil {
			return err
		}
		o := alertOptions(cfg)
		if err := setThresholds(cmd.Flags(), &o.Thresholds, warning, critical); err != nil {
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
			Windows: cfg.Windows,
			Clients: ro.Clients,
			Now:     time.Now(),
		})
		switch {
		case bad != nil:
			return fmt.Errorf("%w; check the thresholds", bad)
		case asJSON:
			return errors.Join(writeLines(env.Stdout, events), err)
		}
		return errors.Join(env.printer().Print("replay", events), err)
	})
}

// setThresholds replaces configured thresholds by the percentages of the flags.
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
		Windows:    cfg.Windows,
		Now:        time.Now(),
	})
	if bad != nil {
		return fmt.Errorf("%w; check the thresholds", bad)
	}
	name := "grid"
	if verbose {
		name = "grid --verbose"
	}
	return errors.Join(env.answer(asJSON, name, g, nil), err)
}
