// Package install puts sm into the client's settings and takes it out again: the hooks, as settings or as a plugin, the
// status line, and the skill that comes with the guard; and hooks into Codex's hooks.json, which has the form of the
// settings' own.
//
// Invariants: of the settings file only our own entries change, in place; the rest keeps every byte. A file is replaced
// whole, and only while it is what was read a moment ago. What would be refused in the end is refused before anything is
// changed. A run that is killed anywhere is made good by the next one. After an uninstallation the settings are what they
// were before, to the byte where nobody has changed them since.
//
// It does not read sm's own configuration or the process's environment: what it needs to know is in Options.
package install

import (
	"cmp"
	"context"
	"io"
	"path/filepath"

	"sm/deploy/jsonedit"
)

// Options say what to install, for whom and where. All paths are absolute.
type Options struct {
	Program     string // the sm that the client is to call; an uninstallation can do without, "", and goes by names then
	Small       string // what hooks and status line are to call in place of Program, see [Small]; "" for none
	Socket      string // of the observer; "" where the hooks find it by themselves
	Settings    string // the client's settings.json, which need not be there
	Codex       string // Codex's folder, which need not be there; "" where nobody knows
	Home        string // what ~ means in commands; "" where nobody knows
	Data, State string // this user's folders for data and for state, as XDG has them
	// Path is where programs are looked for, as in the variable PATH, and Environ what they get, as NAME=value.
	Path           string
	Environ        []string
	Stdout, Stderr io.Writer
	DryRun         bool // print what would change, and change nothing
	Plugin         bool // the hooks come as a plugin of the client
	// Guard installs the guard's hook and its skill, NoGuard takes them out; with neither they stay as they are.
	Guard, NoGuard bool
}

// An installation is a change of the settings under way.
type installation struct {
	Options
	client string // the version to write for, "" for a current one
	codex  bool   // the settings are Codex's hooks
}

// Install puts the hooks and the status line into the client's settings. It refuses a client that is too old, and asks
// the one in the PATH for that.
func (o Options) Install(ctx context.Context) (err error) {
	in := &installation{Options: o}
	if in.client, err = in.clientToInstallFor(ctx); err != nil {
		return err
	}
	skill, err := in.skillChange()
	if err != nil { // before anything is changed
		return err
	}
	if o.Plugin {
		err = in.installPlugin(ctx)
	} else {
		err = in.installSettings(ctx)
	}
	if err == nil && skill != nil {
		err = in.changeSkill(skill)
	}
	return err
}

// Uninstall takes out what Install put in, however it was installed, and forgets what was there before.
func (o Options) Uninstall(ctx context.Context) error {
	o.NoGuard = true
	in := &installation{Options: o}
	skill, err := in.skillChange()
	if err != nil {
		return err
	}
	err = in.changeSettings(&settingsChange{uninstall: true, done: "uninstalled",
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) { return p.uninstall(ctx, d), nil },
	})
	if err == nil && skill != nil {
		err = in.changeSkill(skill)
	}
	if err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

// NewEditor edits the settings in d for the sm at program, "" where nobody knows it. How its own entries are known, see
// isOwnProgram. ~ is home in them.
func NewEditor(d *jsonedit.Text, program, home string) *Editor {
	return &Editor{Doc: d, program: program, home: home, isOwn: func(name string) bool { return isOwnProgram(name, program) }}
}

// editor is told what the settings were before the first installation, nil where nobody knows.
func (in *installation) editor(d, before *jsonedit.Text) *Editor {
	e := NewEditor(d, in.Program, in.Home)
	e.program = cmp.Or(in.Small, in.Program)
	e.socket, e.client, e.codex, e.before = in.Socket, in.client, in.codex, before
	return e
}

const installedText = "installed: new sessions report to the observer"

// installSettings puts the hooks into the settings, and then takes the plugin out: an event that comes twice does less
// harm than one that is missed.
func (in *installation) installSettings(ctx context.Context) error {
	return in.changeSettings(&settingsChange{editFirst: true, done: installedText,
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) {
			in.Guard = in.Guard || !in.NoGuard && p.guarded(in.editor(d, nil))
			return p.uninstall(ctx, d), nil
		},
		edit: func(e *Editor) error { return e.install(in.Guard, in.NoGuard) },
	})
}

// installPlugin installs the plugin, and then takes the hooks out of the settings, for the same reason.
func (in *installation) installPlugin(ctx context.Context) error {
	return in.changeSettings(&settingsChange{done: installedText,
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) {
			e := in.editor(d, nil)
			files, err := p.files(e, in.Guard || !in.NoGuard && (e.guarded() || p.guarded(e)), in.NoGuard)
			if err != nil {
				return nil, err
			}
			return p.install(ctx, d, files), nil
		},
		edit: (*Editor).installBeside,
	})
}

// skillChange is what becomes of the skill /session: it comes and goes with the guard, and is brought up to date where
// it is ours.
func (in *installation) skillChange() (*skillChange, error) {
	path := skillPath(in.Settings)
	if in.Guard {
		return installSkill(path)
	}
	change := uninstallSkill(path)
	if in.NoGuard || change == nil {
		return change, nil
	}
	return installSkill(path)
}

// changeSkill writes or removes the skill, and its folders where they are the installation's own.
func (in *installation) changeSkill(c *skillChange) error {
	if in.DryRun {
		return c.do(in)
	}
	record := in.record()
	if missing := missingFolders(filepath.Dir(c.file.path)); c.text != nil && len(missing) > 0 {
		record.note(missing)
		if err := record.store(); err != nil {
			return err
		}
	}
	err := c.do(in)
	if err == nil && c.text == nil {
		record.removeMade()
	}
	return err
}
