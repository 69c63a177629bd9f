// Package doctor looks for what keeps sm from working, and says what to do: at the client, its settings, tmux, the
// system, the clock, the Alertmanagers that are asked for alerts, and the observer.
//
// Invariants: nothing is changed, and nothing is sent to a socket that another user serves. Every finding that is not ok
// has a remedy. What another program does not answer in time counts as not answered.
//
// It does not read sm's own configuration or the process's environment: what it needs to know is in Options.
package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sm/deploy/install"
)

// A Status is what a finding means.
type Status string

// The statuses.
const (
	Healthy Status = "ok"
	Noted   Status = "note"   // works, but less well than it could
	Broken  Status = "broken" // something that was asked for does not work
)

// HooksRemedy is what to do for messages that wait for hooks.
const HooksRemedy = "run sm install and start that session anew, or set delivery.type_texts"

// A Finding is one thing that the doctor has looked at.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Remedy is what to do; every finding that is not ok has one.
	Remedy string `json:"remedy,omitempty"`
}

// Options say what to look at. All paths are absolute.
type Options struct {
	Program string // this sm; "" where nobody knows, then hooks are known as ours by their name alone
	Version string // what this sm says of itself
	Home    string // what ~ means in commands; "" where nobody knows
	Dir     string // whose project settings to look at; "" for none
	// Settings is the user's settings.json, Managed the administrator's.
	Settings, Managed string
	SettingsErr       error  // why there is no Settings
	Codex             string // Codex's folder, "" where nobody knows
	// Projects are the folders of transcripts.
	Projects    []string
	ProjectsErr error // why there are no Projects
	// Path is where programs are looked for, as in the variable PATH, and Environ what they get, as NAME=value.
	Path    string
	Environ []string
	Sockets []string // where the observer is looked for, best first
	// HookSockets are the sockets that a hook with these arguments tries.
	HookSockets func(args []string) []string
	Guard       bool   // the configuration has it on
	Temporary   string // the folder for temporary files
	TokenFile   string // with the token of alerts, "" for none
	TokenErr    error  // why that token cannot be used
	// Alertmanagers asks those of the configuration, and says what is wrong with each that fails.
	Alertmanagers func(context.Context) []error
	Now           time.Time
	Proc          string // where the system shows processes and limits, /proc
}

// doctor collects findings.
type doctor struct {
	Options
	clients  []install.Client // in the PATH and running
	findings []Finding
}

// Examine looks at everything. Programs that it runs, and the observer, have some seconds each.
func Examine(ctx context.Context, o Options) []Finding {
	d := &doctor{Options: o}
	d.client(ctx)
	d.settings(ctx)
	d.codex(ctx)
	d.tmux(ctx)
	d.inotify()
	d.clock()
	d.webhook()
	for _, err := range d.Alertmanagers(ctx) {
		d.found("alertmanager", Broken, "see alertmanager.urls and alertmanager.http_config_file", "%v", err)
	}
	d.observer(ctx)
	return d.findings
}

func (d *doctor) found(check string, status Status, remedy, format string, args ...any) {
	d.findings = append(d.findings, Finding{check, status, fmt.Sprintf(format, args...), remedy})
}

// webhook examines the token of alerts, where one is configured.
func (d *doctor) webhook() {
	switch {
	case d.TokenFile == "":
	case d.TokenErr != nil:
		d.found("webhook", Broken, "mend that file, and start sm observe again", "alerts are not taken: %v", d.TokenErr)
	default:
		d.found("webhook", Healthy, "", "alerts are taken with the token in %s", d.TokenFile)
	}
}

// clockSlack is by how much clocks may differ without a word.
const clockSlack = 2 * time.Minute

// clock compares what cannot be later than now with now.
func (d *doctor) clock() {
	var newest time.Time
	var where string
	if d.ProjectsErr != nil {
		d.found("clock", Noted, "set HOME to an absolute path", "no transcripts to compare the clock with: %v", d.ProjectsErr)
		return
	}
	for _, dir := range d.Projects {
		entries, _ := os.ReadDir(dir) // one that is not there says nothing about the clock
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.ModTime().After(newest) {
				newest, where = info.ModTime(), filepath.Join(dir, e.Name())
			}
		}
	}
	switch {
	case d.Now.Year() < 2025:
		d.found("clock", Broken, "set the clock; timedatectl shows who keeps it", "it is said to be %s", d.Now.Format(time.DateTime))
	case newest.Sub(d.Now) > clockSlack:
		d.found("clock", Broken, "set the clock, or touch that directory if it was set wrong before; timedatectl shows who keeps it",
			"%s was written at %s, which is still to come", where, newest.Format(time.DateTime))
	default:
		d.found("clock", Healthy, "", "%s", d.Now.Format(time.RFC3339))
	}
}
