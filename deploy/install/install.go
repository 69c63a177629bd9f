// Package install adds sm to the settings of a client and removes it: the hooks, as
// settings or as a plugin, the status line, and the skill of the guard. Codex's
// hooks.json has the form of the settings and is edited in the same way.
//
// Invariants: only our own entries of a settings file change, in place; all other
// bytes stay. A file is replaced as a whole, and only if it has not changed since it
// was read. What would be refused in the end is refused before anything is changed.
// The run after one that was killed completes its work. After an uninstallation the
// settings are what they were before, to the byte if only sm and the client have
// changed them since.
//
// It does not read sm's own configuration or the process's environment: all it needs
// is in Options.
package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"sm/deploy/jsonedit"
)

// Options say what to install, for whom and where. All paths are absolute.
type Options struct {
	Program  string // the sm that the client is to call; "" if unknown, to uninstall
	Small    string // what hooks and status line call in place of Program, see [Small]; "" for none
	Socket   string // of the observer; "" if hooks find it by themselves
	Settings string // the client's settings.json, which may not exist
	Codex    string // Codex's folder, which may not exist; "" if unknown
	Home     string // what ~ means in commands; "" if unknown
	Data     string // this user's folder for data, as XDG has it
	State    string // this user's folder for state, as XDG has it
	Path     string // where programs are looked for, as in the variable PATH
	Environ  []string
	Stdout   io.Writer
	Stderr   io.Writer
	DryRun   bool // print what would change, and change nothing
	Plugin   bool // the hooks come as a plugin of the client

	// Guard installs the guard's hook and its skill, NoGuard removes them; with
	// neither they stay as they are.
	Guard, NoGuard bool
}

// An installation is a change of the settings of one client.
type installation struct {
	Options
	codex bool // the settings are Codex's hooks
}

// A change is an edit of the settings, with what comes before and after it.
type change struct {
	before []step
	edit   func(*Editor) // nil to uninstall
	after  []step
	done   string // to print
}

// A step is a part of an installation that is not an edit of the settings.
type step struct {
	text string
	do   func() error
}

// Install adds the hooks and the status line to the client's settings. It refuses a
// client that is too old, and runs the one in the PATH for its version.
func (o Options) Install(ctx context.Context) error {
	in := &installation{Options: o}
	if err := in.checkClients(ctx); err != nil {
		return err
	}
	skill, err := in.skillChange()
	if err != nil {
		return err
	}
	doc, err := in.settings()
	if err != nil {
		return err
	}
	e := in.editor(doc)
	p := in.plugin()
	guard := in.Guard || !in.NoGuard && (e.guarded() || p.guarded())

	// There are always either hooks in the settings or those of the plugin: what is
	// replaced goes last, as an event that comes twice does less harm than one that
	// is missed.
	c := change{done: "installed: new sessions report to the observer"}
	if in.Plugin {
		files, err := p.files(guard)
		if err != nil {
			return err
		}
		c.before = p.install(ctx, doc, files)
		c.edit = (*Editor).installBeside
	} else {
		c.edit = func(e *Editor) { e.install(guard) }
		c.after = p.uninstall(ctx, doc)
	}
	if err := in.make(c); err != nil {
		return err
	}
	return in.changeSkill(skill)
}

// Uninstall removes what Install has added, in whatever way.
func (o Options) Uninstall(ctx context.Context) error {
	o.NoGuard = true
	in := &installation{Options: o}
	skill, err := in.skillChange()
	if err != nil {
		return err
	}
	doc, err := in.settings()
	if err != nil {
		return err
	}
	if err := in.make(change{
		before: in.plugin().uninstall(ctx, doc),
		done:   "uninstalled",
	}); err != nil {
		return err
	}
	if err := in.changeSkill(skill); err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

func (in *installation) settings() (*jsonedit.Text, error) {
	file, err := ReadFile(in.Settings)
	if err != nil {
		return nil, err
	}
	return file.Parse()
}

// editor returns an editor of d.
func (in *installation) editor(d *jsonedit.Text) *Editor {
	e := NewEditor(d, in.Program, in.Home)
	e.program = cmp.Or(in.Small, in.Program)
	e.socket = in.Socket
	e.codex = in.codex
	return e
}

// make makes a change. What would be refused in the end is refused before the first
// step.
func (in *installation) make(c change) error {
	record := in.record()
	file, err := ReadFile(in.Settings)
	if err != nil {
		return err
	}
	if _, err := in.result(c, record, file); err != nil {
		return err
	}
	if steps := len(c.before) + len(c.after); steps > 0 && !in.DryRun {
		if err := file.Writable(); err != nil {
			return err
		}
		if err := in.remember(c, record, file, filepath.Dir(in.plugin().dir)); err != nil {
			return err
		}
	}

	if err := in.take(c.before); err != nil {
		return err
	}
	for range 3 { // the client may write at the same moment
		if err = in.edit(c, record); !errors.Is(err, errChanged) {
			break
		}
		err = fmt.Errorf(
			"%s: %w; close the sessions that write to it and try again",
			in.Settings,
			err,
		)
	}
	if err != nil {
		return err
	}
	return in.take(c.after)
}

// take runs steps, or prints them.
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

// edit changes the settings, or prints how it would.
func (in *installation) edit(c change, record *record) error {
	file, err := ReadFile(in.Settings)
	if err != nil {
		return err
	}
	text, err := in.result(c, record, file)
	switch {
	case err != nil:
		return err
	case (text == nil) == (file.text == nil) && bytes.Equal(text, file.text):
		return in.print("%s: nothing to change\n", file.path)
	case in.DryRun:
		return in.print("%s", unifiedDiff(file.path, file.text, text))
	}

	if err := file.Writable(); err != nil {
		return err
	}
	if err := in.remember(c, record, file); err != nil {
		return err
	}
	if err := file.replace(text); err != nil {
		return err
	}
	return in.print("%s: %s\n", file.path, c.done)
}

// result returns what a change makes of the settings, nil for no file.
func (in *installation) result(c change, record *record, file *File) ([]byte, error) {
	if c.edit != nil {
		return in.edited(file, c.edit)
	}
	left, err := in.withoutOurs(file)
	if err != nil {
		return nil, err
	}
	return record.giveBack(file, left), nil
}

func (in *installation) edited(file *File, edit func(*Editor)) ([]byte, error) {
	return file.edited(func(d *jsonedit.Text) error {
		e := in.editor(d)
		if err := e.Check(); err != nil {
			return err
		}
		edit(e)
		return nil
	})
}

// withoutOurs returns the settings without our entries.
func (in *installation) withoutOurs(file *File) ([]byte, error) {
	left, err := file.edited(func(d *jsonedit.Text) error {
		if d.Root.IsObject() {
			in.editor(d).uninstall()
			in.plugin().removeEntries(d)
		}
		return nil
	})
	if err != nil || sameMeaning(left, file.text) {
		return file.text, err
	}
	return left, nil
}

// remember records the settings, and the folders that are made, before an
// installation writes them.
func (in *installation) remember(
	c change,
	record *record,
	file *File,
	makes ...string,
) error {
	if c.edit == nil {
		return nil
	}
	left, err := in.withoutOurs(file)
	if err != nil {
		return err
	}
	record.Before = record.giveBack(file, left)
	record.Known = true
	return record.note(append(makes, filepath.Dir(file.target))...)
}

func (in *installation) print(format string, args ...any) error {
	_, err := fmt.Fprintf(in.Stdout, format, args...)
	return err
}

// unifiedDiff returns what diff -u prints, "" for equal texts.
func unifiedDiff(name string, before, after []byte) []byte {
	_, text, _ := bytes.Cut(
		diff.Diff(name, before, name, after),
		[]byte("\n"),
	) // without the command
	return text
}

// codexFile has Codex's hooks, in its folder.
const codexFile = "hooks.json"

// CodexHooks returns the file with Codex's hooks in its folder.
func CodexHooks(home string) string { return filepath.Join(home, codexFile) }

// forCodex returns the installation for Codex, which has neither guard nor plugin.
func (o Options) forCodex() *installation {
	o.Settings = CodexHooks(o.Codex)
	return &installation{Options: o, codex: true}
}

// codexChange adds our hooks to Codex's file.
func codexChange() change {
	return change{
		edit: func(e *Editor) { e.installHooks(false) },
		done: "installed, but Codex runs no hook that its user has not trusted: start codex and " +
			"choose \"Trust all and continue\", or type /hooks and t; codex exec does not ask",
	}
}

// CheckCodex returns why InstallCodex would be refused, and changes nothing. A Codex
// in the PATH that runs no hooks is a reason.
func (o Options) CheckCodex(ctx context.Context) error {
	client, ok, err := CodexInPath(ctx, o.Path, o.Environ)
	if err != nil {
		return err
	}
	if ok && Older(client.Version, OldestCodex) {
		return fmt.Errorf("codex is %s, and runs no hooks before %s; update it, then run sm install --codex",
			client, OldestCodex)
	}

	in := o.forCodex()
	file, err := ReadFile(in.Settings)
	if err == nil {
		_, err = in.result(codexChange(), in.record(), file)
	}
	if err != nil || o.DryRun {
		return err
	}
	return file.Writable()
}

// InstallCodex adds the hooks to Codex's hooks.json. Codex runs new hooks only after
// its user has trusted them.
func (o Options) InstallCodex() error { return o.forCodex().make(codexChange()) }

// UninstallCodex removes what InstallCodex has added.
func (o Options) UninstallCodex() error {
	in := o.forCodex()
	if err := in.make(change{done: "uninstalled"}); err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

// CodexThere reports whether Codex's folder exists, or a record of InstallCodex.
func (o Options) CodexThere() bool {
	for _, path := range []string{o.Codex, o.forCodex().record().path} {
		if _, err := os.Stat(path); o.Codex != "" && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
