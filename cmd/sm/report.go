package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sm/observer/api"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, paths, err := env.transcripts(cmd, args)
			if err != nil {
				return err
			}
			sparing()
			r, err := env.report(cmd.Context(), cfg, paths)
			if fatal(err) {
				return fmt.Errorf("%w; check the path", err)
			}
			if asJSON {
				return errors.Join(writeJSON(env.stdout, r), err)
			}
			return errors.Join(env.writeReport(r), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// report is what `sm report --json` prints. Its fields are a contract. Sizes are in tokens.
type report struct {
	Sessions    int             `json:"sessions"`
	Turns       int             `json:"turns"`
	Compactions api.Compactions `json:"compactions"`
	From        *time.Time      `json:"from"` // the oldest and newest record, null without any time
	To          *time.Time      `json:"to"`
	// Dropped sums up by how much contexts were smaller after a compaction, where both sizes are known.
	Dropped int64 `json:"tokens_dropped"`
	Storms  int   `json:"storms"`

	Projects []reportRow `json:"projects"`
	Models   []reportRow `json:"models"`
	Months   []reportRow `json:"months"`

	// Pre is the size at which contexts were compacted that nobody compacted by hand, ManualPre that of the others. Post
	// is the first reading after any compaction, PostPercentage its share of the window.
	Pre            distribution `json:"pre_tokens"`
	ManualPre      distribution `json:"manual_pre_tokens"`
	Post           distribution `json:"post_tokens"`
	PostPercentage distribution `json:"post_percentage"`
	// TurnsPerCycle is of the cycles that a compaction ended, with the turns that a fork has copied into its own; unknown
	// where a transcript begins with the compaction.
	TurnsPerCycle distribution `json:"turns_per_cycle"`

	Threshold reportThreshold `json:"compaction_threshold"`
	Strange   int             `json:"no_transcripts"` // files without a single record, which are left out
}

// reportRow is the part of one project, model or month. A session counts for its last model and the month in which it
// began, a turn for the model that answered it.
type reportRow struct {
	Name        string          `json:"name"` // "" where the records do not tell
	Sessions    int             `json:"sessions"`
	Turns       int             `json:"turns"`
	Compactions api.Compactions `json:"compactions"`
}

// reportThreshold tells of the compactions that nobody made by hand; null for what is not known.
type reportThreshold struct {
	Typical    *reportRange `json:"typical"`     // four of five lie in it
	MostCommon *reportRange `json:"most_common"` // the most frequent span of 10,000 tokens
	After      *reportRange `json:"after"`       // four of five first readings lie in it
	// Sessions are those with most such compactions of known size, at most two, and none with less than two.
	Sessions []reportSession `json:"most_compacted"`
}

type reportRange struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

type reportSession struct {
	SessionID   string `json:"session_id"`
	Project     string `json:"project"`
	Compactions int    `json:"compactions"`
	MinPre      int64  `json:"min_pre_tokens"`
	MaxPre      int64  `json:"max_pre_tokens"`
}

// report sums up all transcripts in paths.
func (env *environ) report(ctx context.Context, cfg *config, paths []string) (*report, error) {
	h, err := env.chronicle(ctx, paths)
	if fatal(err) {
		return nil, err
	}
	s, bad := newSums(cfg.alerts())
	if bad != nil {
		return nil, bad
	}
	views := h.settle(cfg.windowRules(), time.Now())
	if ended := h.tell(ctx, cfg.windowRules(), s.take); ended != nil {
		return nil, ended
	}
	r := s.report(views)
	r.Strange = h.strange
	return r, err
}
