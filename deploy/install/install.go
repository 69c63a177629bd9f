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
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"sm/deploy/jsonedit"
)

// Options are what to install, for which user and where. All paths are absolute.
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
	DryRun   bool // print what would change, and change nothing
	Plugin   bool // the hooks come as a plugin of the client

	// Guard installs the guard's hook and its skill, NoGuard removes them; with
	// neither they stay as they are.
	Guard, NoGuard bool
}

// An installation is a change of the settings of one client.
type installation struct {
	Options
	client Client
	path   string // of the settings
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

func (o Options) of(c Client) *installation {
	if c.more {
		return &installation{o, c, o.Settings}
	}
	o.Guard = false
	o.NoGuard = true
	o.Plugin = false
	return &installation{o, c, CodexHooks(o.Codex)}
}

// CodexHooks returns the file with Codex's hooks in its folder.
func CodexHooks(home string) string { return filepath.Join(home, "hooks.json") }

// Install adds the hooks and the status line to a client's settings. It refuses a
// client that is too old, and runs the one in the PATH for its version.
func (o Options) Install(ctx context.Context, client Client) error {
	in := o.of(client)
	if err := in.checkVersions(ctx); err != nil {
		return err
	}
	skill, text, err := in.skillChange()
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
	c := change{done: client.done}
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
	return in.changeSkill(skill, text)
}

// Uninstall removes what Install has added, in whatever way.
func (o Options) Uninstall(ctx context.Context, client Client) error {
	o.NoGuard = true
	in := o.of(client)
	skill, text, err := in.skillChange()
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
	if err := in.changeSkill(skill, text); err != nil || o.DryRun {
		return err
	}
	return in.forget()
}

// CodexThere reports whether Codex's folder exists, or a record of its hooks.
func (o Options) CodexThere() bool {
	_, err := os.Stat(o.Codex)
	_, recordErr := os.Stat(o.of(Codex()).record().path)
	return o.Codex != "" && (err == nil || recordErr == nil)
}

func (in *installation) settings() (*jsonedit.Text, error) {
	file, err := ReadFile(in.path)
	if err != nil {
		return nil, err
	}
	return file.Parse()
}

// editor returns an editor of d.
func (in *installation) editor(d *jsonedit.Text) *Editor {
	e := NewEditor(d, in.Program, in.Home)
	e.client = in.client
	e.program = cmp.Or(in.Small, in.Program)
	e.socket = in.Socket
	e.plugin = in.plugin().dir
	return e
}

// make makes a change. What would be refused in the end is refused before the first
// step.
func (in *installation) make(c change) error {
	file, text, err := in.prepare(c)
	if err != nil {
		return err
	}
	if len(c.before) > 0 {
		if err := in.take(c.before); err != nil {
			return err
		}
		if file, text, err = in.prepare(c); err != nil { // the client has written the file
			return err
		}
	}

	switch {
	case !file.changes(text):
		err = in.print("%s: nothing to change\n", file.path)
	case in.DryRun:
		err = in.print("%s", unifiedDiff(file.path, file.text, text))
	default:
		if err = file.replace(text); err == nil {
			err = in.print("%s: %s\n", file.path, c.done)
		}
	}
	if err != nil {
		return err
	}
	return in.take(c.after)
}

// prepare returns the settings and what a change makes of them, nil for no file. It
// records what they were before the first installation.
func (in *installation) prepare(c change) (*File, []byte, error) {
	file, err := ReadFile(in.path)
	if err != nil {
		return nil, nil, err
	}
	r := in.record()
	text, err := in.withoutOurs(file, r)
	if err != nil {
		return nil, nil, err
	}
	if c.edit != nil {
		r.Before = text
		r.Known = true
		doc, err := file.Parse()
		if err != nil {
			return nil, nil, err
		}
		e := in.editor(doc)
		e.before = r.value()
		if err := e.Check(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file.path, err)
		}
		c.edit(e)
		text = file.with(doc)
	}
	if in.DryRun || !file.changes(text) && len(c.before)+len(c.after) == 0 {
		return file, text, nil
	}
	if err := file.Writable(); err != nil {
		return nil, nil, err
	}
	if c.edit != nil {
		err = r.store()
	}
	return file, text, err
}

// withoutOurs returns the settings without our entries, nil for no file. If they have
// the meaning of the settings before the installation, the bytes of these come back.
func (in *installation) withoutOurs(file *File, r *record) ([]byte, error) {
	doc, err := file.Parse()
	if err != nil {
		return nil, err
	}
	if doc.Root.IsObject() {
		e := in.editor(doc)
		e.before = r.value()
		e.uninstall()
	}
	text := file.with(doc)
	if file.Exists() && r.Known && sameJSON(text, r.Before) {
		return r.Before, nil
	}
	return text, nil
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

func (in *installation) print(format string, args ...any) error {
	_, err := fmt.Fprintf(in.Stdout, format, args...)
	return err
}

// changes reports whether a text, nil for no file, differs from the file's.
func (f *File) changes(text []byte) bool {
	return (text == nil) != (f.text == nil) || !bytes.Equal(text, f.text)
}

// unifiedDiff returns what diff -u prints, "" for equal texts.
func unifiedDiff(name string, before, after []byte) []byte {
	_, text, _ := bytes.Cut(
		diff.Diff(name, before, name, after),
		[]byte("\n"),
	) // without the command
	return text
}
