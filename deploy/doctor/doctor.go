// Package doctor finds problems of an installation: it checks the client, its
// settings, tmux, the system, the clock, the Alertmanagers that are queried,
// and the observer.
//
// Invariants: nothing is changed, and nothing is sent to a socket of another
// user. Every finding that is not ok has a remedy. A program without an answer
// in time counts as silent.
//
// It does not read sm's own configuration or the process's environment: all
// input is in Options.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sm/deploy/install"
)

// A Status is the result of a check.
type Status string

// The statuses.
const (
	Healthy Status = "ok"
	Noted   Status = "note"   // works, but less well than it could
	Broken  Status = "broken" // a requested function does not work
)

// HooksRemedy is the remedy for messages that wait for hooks.
const HooksRemedy = "run sm install and give that session a prompt, or set delivery.type_texts"

// A Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Remedy is what to do; every finding that is not ok has one.
	Remedy string `json:"remedy,omitempty"`
	// Cause is the part of a session's text that several sessions may share.
	Cause string `json:"cause,omitempty"`
}

// Grouped merges the findings about sessions with the same cause and remedy,
// for people.
func Grouped(all []Finding) (short []Finding) {
	type group struct{ cause, remedy string }
	alike := map[group]int{}
	for _, f := range all {
		alike[group{f.Cause, f.Remedy}]++
	}
	for _, f := range all {
		if n := alike[group{f.Cause, f.Remedy}]; f.Cause != "" && n > 1 {
			f.Check = "sessions"
			f.Text = fmt.Sprintf("%d sessions: %s", n, f.Cause)
			f.Cause = ""
		}
		if !slices.Contains(short, f) {
			short = append(short, f)
		}
	}
	return short
}

// Options are the input of the checks. All paths are absolute.
type Options struct {
	install.Options        // Program, Home, Settings, Codex, Path and Environ
	Version         string // of this sm, as sm version prints it
	Dir             string // whose project settings to check; "" for none
	SettingsErr     error  // why Settings is unknown
	Managed         string // the administrator's settings.json
	Projects        []string
	ProjectsErr     error    // why Projects, the folders of transcripts, is unknown
	Sockets         []string // of the observer, best first
	// HookSockets returns the sockets that a hook with these arguments tries.
	HookSockets func(args []string) []string
	Guard       bool   // guard.enabled in the configuration
	Temporary   string // the folder for temporary files
	TokenFile   string // with the token of alerts, "" for none
	TokenErr    error  // why that token cannot be used
	// Alertmanagers queries those of the configuration and returns their errors.
	Alertmanagers func(context.Context) []error
	Now           time.Time
	Proc          string // where the system shows processes and limits, /proc
	// Anonymous findings have no paths, no names and no output of programs.
	Anonymous bool
}

// doctor collects findings.
type doctor struct {
	Options
	findings []Finding
	hooked   bool // sm's hooks are installed
	watching bool // the observer has never seen a hook
}

// Examine runs all checks. Each program that it runs, and the observer, has
// some seconds to answer.
func Examine(ctx context.Context, o Options) []Finding {
	d := &doctor{Options: o}
	d.client(ctx)
	d.settings(ctx)
	d.codex(ctx)
	d.tmux(ctx)
	d.inotify()
	d.clock()
	switch {
	case d.TokenFile == "":
	case d.TokenErr != nil:
		d.broken("webhook", "correct that file, and start sm observe again",
			"alerts are not accepted: %v", d.TokenErr)
	default:
		d.ok("webhook", "alerts are accepted with the token in %s", d.TokenFile)
	}
	for _, err := range d.Alertmanagers(ctx) {
		d.broken("alertmanager", "see alertmanager.urls and alertmanager.http_config_file", "%v",
			err)
	}
	d.observer(ctx)
	return d.findings
}

func (d *doctor) ok(check, format string, args ...any) {
	d.add(check, Healthy, "", format, args...)
}

func (d *doctor) note(check, remedy, format string, args ...any) {
	d.add(check, Noted, remedy, format, args...)
}

func (d *doctor) broken(check, remedy, format string, args ...any) {
	d.add(check, Broken, remedy, format, args...)
}

func (d *doctor) add(check string, status Status, remedy, format string, args ...any) {
	for i, arg := range args {
		_, number := arg.(int)
		client, _ := arg.(install.Installed)
		if d.Anonymous && !number && arg != "" {
			args[i] = cmp.Or(client.Version, "…")
		}
	}
	text := fmt.Sprintf(format, args...)
	d.findings = append(d.findings, Finding{check, status, text, remedy, ""})
}
