package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
)

// What a finding of the doctor means.
const (
	healthy = "ok"
	noted   = "note"   // works, but less well than it could
	broken  = "broken" // something that was asked for does not work
)

// A finding is one thing that the doctor has looked at.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Text   string `json:"text"`
	// Remedy is what to do; every finding that is not ok has one.
	Remedy string `json:"remedy,omitempty"`
}

// doctor looks at all that sm depends on and changes nothing.
type doctor struct {
	env      *environ
	cfg      *config.Config
	sockets  []string
	now      time.Time
	managed  string // the administrator's settings
	proc     string
	clients  []clientVersion // in the PATH and running
	findings []finding
}

func newDoctorCommand(env *environ) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps sm from working, and say what to do",
		Long: "Look at the client, its settings, tmux, the system and the observer, and say what to do about what is wrong.\n" +
			"The exit code is 1 when something is broken.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd.Flags(), env)
			if err != nil {
				return err
			}
			sockets, err := cfg.SocketPaths(env.lookupEnv)
			if err != nil {
				return err
			}
			d := &doctor{env: env, cfg: cfg, sockets: sockets, now: time.Now(), managed: managedSettings(), proc: "/proc"}
			d.examine(cmd.Context())
			if err := d.report(asJSON); err != nil {
				return err
			}
			if d.has(broken) {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d *doctor) examine(ctx context.Context) {
	d.client(ctx)
	d.settings()
	d.tmux(ctx)
	d.inotify()
	d.clock()
	d.webhook()
	d.observer(ctx)
}

func (d *doctor) found(check, status, remedy, format string, args ...any) {
	d.findings = append(d.findings, finding{check, status, fmt.Sprintf(format, args...), remedy})
}

func (d *doctor) has(status string) bool {
	for _, f := range d.findings {
		if f.Status == status {
			return true
		}
	}
	return false
}

func (d *doctor) report(asJSON bool) error {
	if asJSON {
		return writeJSON(d.env.stdout, struct {
			Findings []finding `json:"findings"`
		}{d.findings})
	}
	t := term.Table{Headers: []string{"", "CHECK", "FINDING"}, Colour: d.env.colours(d.env.stdout)}
	for _, f := range d.findings {
		colour := map[string]string{noted: screen.Yellow, broken: screen.Red}[f.Status]
		t.Add(term.Text(f.Status, colour), term.Text(f.Check, ""), term.Text(screen.OneLine(f.Text), ""))
		if f.Remedy != "" {
			t.Add(term.Cell{}, term.Cell{}, term.Text("→ "+screen.OneLine(f.Remedy), screen.Dim))
		}
	}
	return t.Write(d.env.stdout)
}

// webhook examines the token of alerts, where one is configured.
func (d *doctor) webhook() {
	if d.cfg.HTTP.WebhookTokenFile == "" {
		return
	}
	if _, err := d.cfg.WebhookToken(); err != nil {
		d.found("webhook", broken, "mend that file, and start sm observe again", "alerts are not taken: %v", err)
		return
	}
	d.found("webhook", healthy, "", "alerts are taken with the token in %s", d.cfg.HTTP.WebhookTokenFile)
}

// clockSlack is by how much clocks may differ without a word.
const clockSlack = 2 * time.Minute

// clock compares what cannot be later than now with now.
func (d *doctor) clock() {
	var newest time.Time
	var where string
	dirs, err := d.cfg.ProjectDirs(d.env.lookupEnv)
	if err != nil {
		d.found("clock", noted, "set HOME to an absolute path", "no transcripts to compare the clock with: %v", err)
		return
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // one that is not there says nothing about the clock
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.ModTime().After(newest) {
				newest, where = info.ModTime(), filepath.Join(dir, e.Name())
			}
		}
	}
	switch {
	case d.now.Year() < 2025:
		d.found("clock", broken, "set the clock; timedatectl shows who keeps it", "it is said to be %s", d.now.Format(time.DateTime))
	case newest.Sub(d.now) > clockSlack:
		d.found("clock", broken, "set the clock, or touch that directory if it was set wrong before; timedatectl shows who keeps it",
			"%s was written at %s, which is still to come", where, newest.Format(time.DateTime))
	default:
		d.found("clock", healthy, "", "%s", d.now.Format(time.RFC3339))
	}
}

// lookPath finds a program in the PATH of env.
func (env *environ) lookPath(name string) string {
	list, _ := env.lookupEnv("PATH")
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
