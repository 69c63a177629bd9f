package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/observer/history"
	"sm/observer/history/report"
)

func newReportCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report [PATH]...",
		Short: "Sum up where sessions were compacted, and what was left",
		Long: "Read the transcripts in and below each PATH, all of this user's without any, and sum them up: sessions, turns and\n" +
			"compactions by project, model and month, the context sizes at which compaction struck and what was left, the\n" +
			"turns between compactions, storms. With --json one object. What stands in several files, copied by a fork or a\n" +
			"resume, counts where it first happened; subagents do not count. No observer is needed.",
		Example: "  sm report\n  sm report --json ~/.claude/projects",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, paths, err := env.transcripts(cmd, args)
			if err != nil {
				return err
			}
			sparing()
			r, err := newPastReader(env.stderr).report(cmd.Context(), cfg, paths)
			if history.Fatal(err) {
				return fmt.Errorf("%w; check the path", err)
			}
			if asJSON {
				return errors.Join(writeJSON(env.stdout, r), err)
			}
			return errors.Join(env.printer().WriteReport(r), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// report sums up all transcripts in paths.
func (past *pastReader) report(ctx context.Context, cfg *config.Config, paths []string) (*report.Report, error) {
	h, err := past.readHistory(ctx, paths)
	if history.Fatal(err) {
		return nil, err
	}
	r, bad := report.Of(ctx, h, report.Options{Policy: alertOptions(cfg), Windows: windowRules(cfg), Now: time.Now()})
	if bad != nil {
		return nil, bad
	}
	return r, err
}
