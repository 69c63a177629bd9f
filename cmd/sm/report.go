package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sm/dashboards/screen"
	"sm/observer/history/report"
)

func newReportCommand(env *environ) *cobra.Command {
	var asJSON, files, verbose bool
	html := ""
	cmd := command(`report [PATH]...
Summarize compactions and their cost

Read the transcripts in and below each PATH, by default all of this user, and summarize them: what compactions cost
in tokens of files that were read again in the 25 replies after them, and in time; the same for handoffs and clears;
sizes of contexts by client; one piece of advice. --verbose adds sessions, turns and compactions by project, model and
month, and how sizes and turns are spread. Dollars are estimated by cost.prices of the configuration.

Records copied by a fork or a resume count once; subagents do not count. No observer is needed.

$ sm report
$ sm report --verbose           # by project, model and month, with histograms
$ sm report --html costs.html
$ sm report --json ~/.claude/projects

--files name the files most often read again after compactions
--html write one page with charts to this <FILE> instead, to pass on
--json print one JSON object
--verbose print all sections
`, flags{
		"json":    &asJSON,
		"verbose": &verbose,
		"files":   &files,
		"html":    &html,
	}, func(cmd *cobra.Command, args []string) error {
		if err := emptyFlag(cmd.Flags()); err != nil {
			return err
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
			Windows: cfg.Windows,
			Prices:  cfg.Cost.Prices,
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
		name := "report"
		if verbose {
			name = "report --verbose"
		}
		return errors.Join(env.answer(asJSON, name, r, nil), err)
	})
	cmd.MarkFlagsMutuallyExclusive("json", "html")
	return cmd
}

// writePage writes the report into a file as one HTML page.
func (env *environ) writePage(path string, r *report.Report) error {
	var b bytes.Buffer
	if err := env.printer().WriteHTML(&b, r, versionOf()); err != nil {
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
