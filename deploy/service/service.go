// Package service sets up the observer as a service of the present user,
// without root: as a systemd user unit with its sockets, or as a launchd agent
// on macOS. A Notifier reports the state of an observer to systemd.
//
// Invariants: a second run changes nothing; files that sm did not write are
// neither overwritten nor removed; Remove removes all files of Install; a dry
// run writes nothing and runs only commands that change nothing.
//
// It does not install the program, hooks or a configuration, and does not
// change the observer's state.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sm/handoff/files"
)

// Options describe the service, its user and its addresses.
type Options struct {
	System  string   // runtime.GOOS
	Home    string   // absolute
	Config  string   // $XDG_CONFIG_HOME, or ~/.config; absolute
	Program string   // the absolute path of sm
	Args    []string // of sm, before "observe"
	Socket  string   // the Unix socket of the configuration, absolute
	Listen  []string // the addresses of the configuration that this machine can open
	// Run runs a program of the system and returns its output.
	Run    func(ctx context.Context, program string, args ...string) (string, error)
	UID    int
	DryRun bool
	Out    io.Writer // gets a line for each step
}

// mark is in each file that Install writes. Files without it are not changed.
const mark = "Written by sm service install; sm service remove takes it away."

// A file belongs to the configuration of the service manager.
type file struct{ path, text, state string }

// The states of a file, as Status prints them.
const (
	missing  = "missing; sm service install writes it"
	foreign  = "not written by sm service install"
	outdated = "not as this sm and its configuration would have it; run sm service install again"
	current  = "in place"
)

// read sets the state of the file.
func (f *file) read() error {
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.state = missing
	case err != nil:
		return err
	case string(text) == f.text:
		f.state = current
	case strings.Contains(string(text), mark):
		f.state = outdated
	default:
		f.state = foreign
	}
	return nil
}

// A manager describes a service manager: the files and commands for the service. A
// command that begins with a hyphen may fail, as in systemd's units.
type manager struct {
	files   []file
	start   [][]string // if no file has changed
	restart [][]string // after files were written
	stop    [][]string // before files are removed
	removed [][]string // after files were removed
	state   func(ctx context.Context) (string, error)
}

func (o Options) manager() (m manager, err error) {
	switch o.System {
	case "linux":
		m = systemd(o)
	case "darwin":
		m = launchd(o)
	default:
		return m, fmt.Errorf("no service for %s: run sm observe by the means of your system", o.System)
	}
	for i := range m.files {
		if err := m.files[i].read(); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Install writes the files and starts the service, now and at each login.
func Install(ctx context.Context, o Options) error {
	m, err := o.manager()
	if err != nil {
		return err
	}
	if o.System == "linux" {
		if err := o.noOtherObserver(ctx); err != nil {
			if !o.DryRun {
				return err
			}
			o.print("note: %v", err)
		}
	}
	commands := m.start
	for _, f := range m.files {
		wrote, err := o.write(f)
		if err != nil {
			return err
		}
		if wrote {
			commands = m.restart
		}
	}
	return o.runAll(ctx, commands)
}

// Remove stops the service and removes the files that Install wrote.
func Remove(ctx context.Context, o Options) error {
	m, err := o.manager()
	if err != nil {
		return err
	}
	var own []file
	for _, f := range m.files {
		switch f.state {
		case foreign:
			o.print("leave %s, which sm service install did not write", f.path)
		case current, outdated:
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		o.print("nothing to remove")
		return nil
	}
	if err := o.runAll(ctx, m.stop); err != nil {
		return err
	}
	for _, f := range own {
		o.print("remove %s", f.path)
		if o.DryRun {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			return err
		}
		files.RemoveEmpty(filepath.Dir(f.path), o.Home, o.Config)
	}
	return o.runAll(ctx, m.removed)
}

// Status prints the state of the files and the state that the service manager
// reports. It returns an error if a file is missing, unless the service runs
// with the files of a package.
func Status(ctx context.Context, o Options) error {
	m, err := o.manager()
	if err != nil {
		return err
	}
	for _, f := range m.files {
		o.print("%s: %s", f.path, f.state)
	}
	state, err := m.state(ctx)
	if err != nil {
		return err
	}
	o.print("%s", state)
	for _, f := range m.files {
		if f.state == missing && !strings.Contains(state, ", active") {
			return errors.New("the service is not installed; run sm service install")
		}
	}
	return nil
}

// Openable returns the addresses that this machine can open, so not [::1]
// without IPv6: a unit with an address that cannot be opened opens none.
func Openable(addresses []string) []string {
	var list []string
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
			_ = l.Close() // nothing was accepted
			list = append(list, address)
		}
	}
	return list
}

// Runner returns a value for Options.Run that passes these variables to
// programs.
func Runner(vars []string) func(ctx context.Context, program string, args ...string) (string, error) {
	return func(ctx context.Context, program string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = vars
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

func (o Options) print(format string, args ...any) {
	fmt.Fprintf(o.Out, format+"\n", args...)
}

// write writes a file, unless it is in place. wrote is true in a dry run too.
func (o Options) write(f file) (wrote bool, err error) {
	switch f.state {
	case current:
		o.print("unchanged %s", f.path)
		return false, nil
	case foreign:
		return false, fmt.Errorf(
			"%s exists, and sm service install did not write it: move it away, then try again",
			f.path,
		)
	}
	o.print("write %s", f.path)
	if o.DryRun {
		return true, nil
	}
	return true, files.Replace(f.path, []byte(f.text), 0o644)
}

func (o Options) runAll(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		line := strings.TrimPrefix(strings.Join(c, " "), "-")
		o.print("run %s", line)
		if o.DryRun {
			continue
		}
		program, mayFail := strings.CutPrefix(c[0], "-")
		if out, err := o.Run(ctx, program, c[1:]...); err != nil && !mayFail {
			return fmt.Errorf("%s: %w: %s; the files are in place, run it yourself when that is corrected",
				line, err, strings.TrimSpace(out))
		}
	}
	return nil
}
