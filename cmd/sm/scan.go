package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/view"
	"sm/dashboards/top"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/observer/projects"
	"sm/observer/wire"
	"sm/transcript"
)

func newScanCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`scan [PATH]...
Scan transcripts and print per-session totals

Read the transcripts in and below each PATH, by default all of this user, and print a table, or with --json one object
per session. Records copied by a fork or a resume count once, in the session where they first appeared. No observer
is needed.

$ sm scan
$ sm scan ~/.claude/projects/-home-me-web
$ sm scan --json | jq .peak_context_tokens

--json print one JSON object per line for each session
`, flags{
		"json": &asJSON,
	}, func(cmd *cobra.Command, args []string) error {
		cfg, paths, err := env.transcripts(cmd, args)
		if err != nil {
			return err
		}
		o, end := env.reading()
		f := fleet.New(fleet.Options{
			Windows:    cfg.Windows,
			Clients:    o.Clients,
			Thresholds: cfg.ContextMonitor.Thresholds,
			Project:    new(projects.Names).Of,
		}, fleet.Stored{Created: time.Now()})
		err = history.Transcripts(
			cmd.Context(),
			o,
			paths,
			func(c transcript.Change) { f.Apply(c) },
		)
		end()
		if history.Fatal(err) {
			return unread(err)
		}
		f.Settle(time.Now())
		views := f.Views(time.Now())
		if asJSON {
			var lines []scanned
			for _, v := range views {
				s := scannedOf(wire.Session(v))
				s.Bytes = v.Bytes
				s.Lines = v.Lines
				s.BadLines = v.Bad
				lines = append(lines, s)
			}
			return errors.Join(writeLines(env.Stdout, lines), err)
		}
		return errors.Join(writeScan(env.printer(), views), err)
	})
}

func writeScan(to *view.Printer, views []fleet.View) error {
	if len(views) == 0 {
		_, err := fmt.Fprintln(to, "no sessions found")
		return err
	}
	sessions := make([]api.Session, len(views))
	for i, v := range views {
		sessions[i] = wire.Session(v)
	}
	table := top.Table{
		Width:  to.Columns,
		Colour: to.Colour,
		Past:   true,
	}
	return table.Write(to, sessions, time.Now())
}

// scanned is one line of `sm scan --json`. Scripts rely on its fields.
type scanned struct {
	SessionID    string          `json:"session_id"`
	Client       string          `json:"client"`
	Path         string          `json:"path"`
	Project      string          `json:"project"`
	CWD          string          `json:"cwd"`
	Model        string          `json:"model"`
	Version      string          `json:"version"`
	StartedAt    *time.Time      `json:"started_at"`
	LastActivity *time.Time      `json:"last_activity_at"`
	Context      *int64          `json:"context_tokens"`
	Window       int64           `json:"window_tokens"`
	WindowSource string          `json:"window_source"`
	Used         *int            `json:"used_percentage"`
	Peak         int64           `json:"peak_context_tokens"`
	Compactions  api.Compactions `json:"compactions"`
	Inherited    int             `json:"inherited_compactions"`
	Turns        int             `json:"turns"`
	Messages     int             `json:"messages"`
	Tokens       api.Tokens      `json:"tokens"`
	Subagents    api.Subagents   `json:"subagents"`
	Bytes        int64           `json:"bytes"`
	Lines        int64           `json:"lines"`
	BadLines     int64           `json:"bad_lines"`
}

// scannedOf copies the fields of a session that a line has too, by their names
// in JSON.
func scannedOf(session api.Session) (s scanned) {
	text, _ := json.Marshal(session) // texts and finite figures: it cannot fail
	_ = json.Unmarshal(text, &s)     // into fields of the same types
	s.Path = session.TranscriptPath
	s.Context = session.TokensUsed
	return s
}
