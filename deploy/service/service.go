// Package service sets the observer up as a service of the present user, without root: a systemd user unit with the
// sockets that it listens on, or a launchd agent on macOS. An observer that runs as one tells systemd how it fares.
//
// Invariants: doing a thing twice changes nothing the second time; a file that somebody else wrote is neither overwritten
// nor removed; Remove takes away all that Install wrote; a dry run writes nothing and runs nothing that changes anything.
//
// It does not install the program, hooks or a configuration, and does not touch the observer's state.
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
)

// Options say whose service it is, and how it is reached.
type Options struct {
	System  string   // runtime.GOOS
	Home    string   // absolute
	Config  string   // $XDG_CONFIG_HOME, or ~/.config; absolute
	Program string   // sm, absolute
	Args    []string // of sm, before "observe"
	Socket  string   // the Unix socket of the configuration, absolute
	Listen  []string // the addresses of the configuration that this machine can open
	// Run runs a program of the system and returns what it printed.
	Run    func(ctx context.Context, program string, args ...string) (string, error)
	UID    int
	DryRun bool
	Out    io.Writer // what is done, a line for each step
}

// mark is in each file that Install writes: Remove and Install leave others alone.
const mark = "Written by sm service install; sm service remove takes it away."

// A file is one that the service manager reads.
type file struct{ path, text string }

// A manager is what starts services on a system.
type manager interface {
	files(o Options) []file
	ready(ctx context.Context, o Options) error // says why the service cannot start now
	// Commands after the files are written, before they are removed, and after that. One that begins with a hyphen may
	// fail, as in systemd's units.
	start(o Options, changed bool) [][]string
	stop(o Options) [][]string
	forget(o Options) [][]string
	state(ctx context.Context, o Options) (string, error)
}

func managerOf(system string) (manager, error) {
	switch system {
	case "linux":
		return systemd{}, nil
	case "darwin":
		return launchd{}, nil
	}
	return nil, fmt.Errorf("no service for %s: run sm observe by the means of your system", system)
}

// Install writes the files and starts the service, at each login and now.
func Install(ctx context.Context, o Options) error {
	m, err := managerOf(o.System)
	if err != nil {
		return err
	}
	if err := m.ready(ctx, o); err != nil {
		return err
	}
	changed := false
	for _, f := range m.files(o) {
		wrote, err := o.write(f)
		if err != nil {
			return err
		}
		changed = changed || wrote
	}
	return o.runAll(ctx, m.start(o, changed))
}

// Remove stops the service and removes the files that Install wrote.
func Remove(ctx context.Context, o Options) error {
	m, err := managerOf(o.System)
	if err != nil {
		return err
	}
	var ours []file
	for _, f := range m.files(o) {
		text, err := os.ReadFile(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !strings.Contains(string(text), mark):
			o.say("leave alone %s: sm service install did not write it", f.path)
		default:
			ours = append(ours, f)
		}
	}
	if len(ours) == 0 {
		o.say("nothing to remove")
		return nil
	}
	if err := o.runAll(ctx, m.stop(o)); err != nil {
		return err
	}
	for _, f := range ours {
		o.say("remove %s", f.path)
		if o.DryRun {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			return err
		}
		// Folders that are empty now go too; a folder with files in it cannot be removed.
		for dir := filepath.Dir(f.path); dir != o.Home && dir != o.Config && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	return o.runAll(ctx, m.forget(o))
}

// Status says whether the files are there and as Install would write them, and what the service manager knows.
func Status(ctx context.Context, o Options) error {
	m, err := managerOf(o.System)
	if err != nil {
		return err
	}
	for _, f := range m.files(o) {
		text, err := os.ReadFile(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			o.say("%s: not there; sm service install writes it", f.path)
		case err != nil:
			return err
		case !strings.Contains(string(text), mark):
			o.say("%s: somebody else wrote it", f.path)
		case string(text) != f.text:
			o.say("%s: other than this sm and its configuration would have it; run sm service install again", f.path)
		default:
			o.say("%s: in place", f.path)
		}
	}
	state, err := m.state(ctx, o)
	if err != nil {
		return err
	}
	o.say("%s", state)
	return nil
}

// Openable leaves out the addresses that this machine does not have, [::1] where there is no IPv6: a unit with one of
// them opens none.
func Openable(addresses []string) []string {
	var list []string
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
			_ = l.Close() // it was only tried
			list = append(list, address)
		}
	}
	return list
}

// Runner runs programs for Options.Run, with these variables.
func Runner(vars []string) func(ctx context.Context, program string, args ...string) (string, error) {
	return func(ctx context.Context, program string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = vars
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

func (o Options) say(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }

// write puts a file in place as a whole, when it is not there yet as it should be.
func (o Options) write(f file) (changed bool, err error) {
	old, err := os.ReadFile(f.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	case err == nil && string(old) == f.text:
		o.say("unchanged %s", f.path)
		return false, nil
	case err == nil && !strings.Contains(string(old), mark):
		return false, fmt.Errorf("%s is there already, and sm service install did not write it: move it away, then try again", f.path)
	}
	o.say("write %s", f.path)
	if o.DryRun {
		return true, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return false, err
	}
	next := f.path + ".new"
	if err := os.WriteFile(next, []byte(f.text), 0o644); err != nil {
		return false, errors.Join(err, os.Remove(next))
	}
	return true, os.Rename(next, f.path)
}

func (o Options) runAll(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		line := strings.TrimPrefix(strings.Join(c, " "), "-")
		o.say("run %s", line)
		if o.DryRun {
			continue
		}
		program, mayFail := strings.CutPrefix(c[0], "-")
		if out, err := o.Run(ctx, program, c[1:]...); err != nil && !mayFail {
			return fmt.Errorf("%s: %w: %s; the files are in place, run it yourself when that is mended", line, err, strings.TrimSpace(out))
		}
	}
	return nil
}
