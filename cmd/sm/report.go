package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/view"
	"sm/dashboards/screen"
	"sm/observer/history/report"
)

func newReportCommand(env *environ) *cobra.Command {
	var asJSON, files, verbose bool
	var html string
	cmd := &cobra.Command{
		Use:   "report [PATH]...",
		Short: "Summarize compactions and their cost",
		Long: "Read the transcripts in and below each PATH, by default all of this user, and summarize them: the cost of compactions,\n" +
			"handoffs and clears in tokens, time, and files read again in the 25 replies after them; sessions, turns and\n" +
			"compactions by project, model and month; context sizes before and after compactions; turns between compactions;\n" +
			"storms. Records copied by a fork or a resume count once; subagents do not count. No observer is needed.",
		Example: "  sm report\n  sm report --verbose           # by project, model and month, with histograms\n  sm report --html costs.html\n  sm report --json ~/.claude/projects",
		RunE: func(cmd *cobra.Command, args []string) error {
			if name := emptyFlag(cmd.Flags()); name != "" {
				return usagef("--%s is empty", name)
			}
			cfg, paths, err := env.transcripts(cmd, args)
			if err != nil {
				return err
			}
			h, err := env.history(cmd.Context(), paths)
			if h == nil {
				return err
			}
			r, bad := report.Of(cmd.Context(), h, report.Options{
				Policy:  alertOptions(cfg),
				Windows: windowRules(cfg),
				Now:     time.Now(),
			})
			if bad != nil {
				return bad
			}
			if !files {
				r.Unnamed()
			}
			if html != "" {
				return errors.Join(env.writePage(html, r), err)
			}
			if asJSON {
				return errors.Join(writeJSON(env.Stdout, r), err)
			}
			return errors.Join(env.printer().WriteReport(r, verbose), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print all sections")
	cmd.Flags().BoolVar(
		&files,
		"files",
		false,
		"name the files most often read again after compactions",
	)
	cmd.Flags().StringVar(
		&html,
		"html",
		"",
		"write one page with charts to this `FILE` instead, to pass on",
	)
	cmd.MarkFlagsMutuallyExclusive("json", "html")
	return cmd
}

// writePage writes the report as a page.
func (env *environ) writePage(path string, r *report.Report) error {
	var b bytes.Buffer
	if err := view.WriteHTML(&b, r, versionOf()); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("%w; name a file that can be written", err)
	}
	return env.print(
		"%s: one page, %d kB, without the text of any transcript",
		screen.Text(path),
		(b.Len()+999)/1000,
	)
}
