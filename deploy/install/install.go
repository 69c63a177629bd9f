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
	"cmp"
	"context"
	"io"

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
	client string // the version to write for, "" for a current one
	codex  bool   // the settings are Codex's hooks
}

// Install adds the hooks and the status line to the client's settings. It refuses a
// client that is too old, and runs the one in the PATH for its version.
func (o Options) Install(ctx context.Context) error {
	in := &installation{Options: o}
	var err error
	if in.client, err = in.clientToInstallFor(ctx); err != nil {
		return err
	}
	skill, err := in.skillChange()
	if err != nil {
		return err
	}
	c, err := in.installChange(ctx)
	if err != nil {
		return err
	}
	if err := in.change(c); err != nil {
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
	e, err := in.readSettings()
	if err != nil {
		return err
	}
	c := &settingsChange{steps: in.plugin().uninstall(ctx, e.Doc), done: "uninstalled"}
	if err := in.change(c); err != nil {
		return err
	}
	if err := in.changeSkill(skill); err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

// installChange returns the change to an installation. There are always either hooks
// in the settings or those of the plugin: what is replaced goes last, as an event
// that comes twice does less harm than one that is missed.
func (in *installation) installChange(ctx context.Context) (*settingsChange, error) {
	e, err := in.readSettings()
	if err != nil {
		return nil, err
	}
	p := in.plugin()
	guard := in.Guard || !in.NoGuard && (e.guarded() || p.guarded(e))
	c := &settingsChange{done: "installed: new sessions report to the observer"}
	if !in.Plugin {
		c.edit = func(e *Editor) error { return e.install(guard) }
		c.steps = p.uninstall(ctx, e.Doc)
		c.editFirst = true
		return c, nil
	}
	files, err := p.files(e, guard)
	if err != nil {
		return nil, err
	}
	c.edit = (*Editor).installBeside
	c.steps = p.install(ctx, e.Doc, files)
	return c, nil
}

func (in *installation) readSettings() (*Editor, error) {
	file, err := ReadFile(in.Settings)
	if err != nil {
		return nil, err
	}
	doc, err := file.Parse()
	if err != nil {
		return nil, err
	}
	return in.editor(doc, nil), nil
}

// editor returns an editor of d; before is what the settings were before the first
// installation, nil if unknown.
func (in *installation) editor(d, before *jsonedit.Text) *Editor {
	e := NewEditor(d, in.Program, in.Home)
	e.program = cmp.Or(in.Small, in.Program)
	e.socket = in.Socket
	e.client = in.client
	e.codex = in.codex
	e.before = before
	return e
}
