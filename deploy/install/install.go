// Package install adds sm to the settings of a client and removes it: the
// hooks, in the settings or as a plugin, the status line, and the skill of the
// guard. Codex's hooks.json has the form of the settings and is edited in the
// same way.
//
// Invariants: only sm's own entries of a settings file change, in place; all
// other bytes stay. A file is replaced as a whole, and only if it has not
// changed since it was read. A change that would fail at its end is refused
// before its first step. If a run was killed, the next run completes its work.
// An uninstallation restores the settings from before the installation, byte
// for byte if only sm and the client have changed them since.
//
// It does not read sm's own configuration or the process's environment: all
// input is in Options.
package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/rogpeppe/go-internal/diff"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// Options describe an installation and its user. All paths are absolute.
type Options struct {
	Program  string // the sm that the client calls; to uninstall it may be "" for unknown
	Small    string // the program that hooks and status line call instead, see [Small]; "" for Program
	Socket   string // of the observer; "" if hooks find it by themselves
	Settings string // the client's settings.json, which may not exist
	Codex    string // Codex's folder, which may not exist; "" if unknown
	Home     string // the value of ~ in commands; "" if unknown
	Data     string // the directory of XDG_DATA_HOME
	State    string // the directory of XDG_STATE_HOME
	Path     string // the directories of programs, as in the variable PATH
	Environ  []string
	Stdout   io.Writer
	DryRun   bool // print the changes without making them
	Plugin   bool // install the hooks as a plugin of the client

	// Guard installs the guard's hook and its skill, NoGuard removes them. Without
	// either, they stay as they are.
	Guard, NoGuard bool
}

// An installation is a change of the settings of one client.
type installation struct {
	Options
	client Client
	path   string // of the settings
	plugin string // the folder of sm's marketplace
}

// A change is an edit of the settings, with the steps before and after it.
type change struct {
	before    []step
	uninstall bool
	hooks     []hook.Event // to install in the settings
	after     []step
	done      string // printed at the end
}

// A step is a part of an installation that is not an edit of the settings.
type step struct {
	text string
	do   func() error
}

func (o Options) of(c Client) *installation {
	in := &installation{
		Options: o,
		client:  c,
		path:    o.Settings,
		plugin:  filepath.Join(o.Data, "sm", "plugin"),
	}
	if !c.more {
		in.path = CodexHooks(o.Codex)
		in.Guard = false
		in.NoGuard = true
		in.Plugin = false
	}
	return in
}

// CodexHooks returns the path of Codex's hooks file in its folder.
func CodexHooks(home string) string { return filepath.Join(home, "hooks.json") }

// Install adds the hooks and the status line to a client's settings. It returns
// an error if a client is too old, and runs the one in the PATH to get its
// version.
func (o Options) Install(ctx context.Context, client Client) error {
	in := o.of(client)
	if err := in.checkVersions(ctx); err != nil {
		return err
	}
	e, err := in.read()
	if err != nil {
		return err
	}
	hooks := client.Events
	if in.Guard || !in.NoGuard && (e.guarded() || in.pluginGuarded()) {
		hooks = append(hooks, hook.PreToolUse)
	}

	// The old hooks, in the settings or of the plugin, are removed last: an event
	// that comes twice does less harm than a missed one.
	c := change{done: client.done}
	if in.Plugin {
		c.done = "installed: takes effect in new sessions; those that run have no hooks until they are started anew"
		c.before, err = in.installPlugin(ctx, e, hooks)
	} else {
		c.hooks = hooks
		c.after = in.uninstallPlugin(ctx, e)
	}
	if err != nil {
		return err
	}
	return in.make(c)
}

// Uninstall removes the entries of Install in any version of sm.
func (o Options) Uninstall(ctx context.Context, client Client) error {
	o.NoGuard = true
	in := o.of(client)
	e, err := in.read()
	if err != nil {
		return err
	}
	err = in.make(change{
		before:    in.uninstallPlugin(ctx, e),
		uninstall: true,
		done:      "uninstalled",
	})
	if err != nil || o.DryRun {
		return err
	}
	return in.forget()
}

// CodexThere reports whether Codex's folder exists, or a record of an
// installation there.
func (o Options) CodexThere() bool {
	_, err := os.Stat(o.Codex)
	_, recordErr := os.Stat(o.of(Codex()).recordPath())
	return o.Codex != "" && (err == nil || recordErr == nil)
}

// read returns an editor of the settings.
func (in *installation) read() (*Editor, error) {
	file, err := ReadFile(in.path)
	if err != nil {
		return nil, err
	}
	e, err := in.edit(file)
	if err != nil {
		return nil, untouched(file, err)
	}
	return e, nil
}

// untouched adds the path and the remedy to the error for a file that cannot be
// edited.
func untouched(file *File, err error) error {
	return fmt.Errorf("%s: %w; correct the file, it is untouched", file.Path, err)
}

// make makes a change, and the change of the skill. A change that would fail at
// its end is refused before the first step.
func (in *installation) make(c change) error {
	skill, skillText, err := in.skillChange()
	if err != nil {
		return err
	}
	file, text, err := in.prepare(c)
	if err == nil && len(c.before) > 0 {
		if err = in.take(c.before); err == nil {
			file, text, err = in.prepare(c) // the client has written the file
		}
	}
	if err == nil {
		err = in.put(file, text, c.done)
	}
	if err == nil {
		err = in.take(c.after)
	}
	if err != nil || skill == nil {
		return err
	}
	done := "the skill /session is installed"
	if skillText == nil {
		done = "removed"
		defer files.RemoveEmpty(filepath.Dir(skill.Path), in.Home)
	}
	return in.put(skill, skillText, done)
}

// put replaces a file, or prints the difference in a dry run.
func (in *installation) put(file *File, text []byte, done string) error {
	switch {
	case !file.changes(text):
		return in.print("%s: nothing to change\n", file.Path)
	case in.DryRun:
		_, lines, _ := bytes.Cut(diff.Diff(file.Path, file.text, file.Path, text), []byte("\n"))
		return in.print("%s", lines) // without the command
	}
	if err := file.replace(text); err != nil {
		return err
	}
	return in.print("%s: %s\n", file.Path, done)
}

// prepare returns the settings file and its text after a change, nil for no
// file. It records the settings from before the first installation: the present
// ones without sm's entries or, if these have the same meaning as the recorded
// ones, the recorded bytes.
func (in *installation) prepare(c change) (*File, []byte, error) {
	e, err := in.read()
	if err != nil {
		return nil, nil, err
	}
	file := e.File
	before, known := in.record()
	if known {
		e.before = parsed(before)
	}
	if e.Doc.Root.IsObject() {
		e.uninstall()
	}
	text := e.text()
	var now, then any
	if known && file.Exists() && json.Unmarshal(settingsBody(text), &now) == nil &&
		json.Unmarshal(settingsBody(before), &then) == nil && reflect.DeepEqual(now, then) {
		text = before
	}
	if !c.uninstall {
		before = text
		if e, err = in.edit(file); err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, nil, untouched(file, err)
		}
		e.before = parsed(before)
		e.install(c.hooks)
		text = e.text()
	}
	if in.DryRun || !file.changes(text) && len(c.before)+len(c.after) == 0 {
		return file, text, nil
	}
	if err := file.Writable(); err != nil {
		return nil, nil, err
	}
	if !c.uninstall {
		err = in.remember(before)
	}
	return file, text, err
}

// take runs steps, or prints them in a dry run.
func (in *installation) take(steps []step) error {
	for _, s := range steps {
		do := s.do
		if in.DryRun {
			do = func() error { return in.print("would %s\n", s.text) }
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (in *installation) print(format string, args ...any) error {
	_, err := fmt.Fprintf(in.Stdout, format, args...)
	return err
}
