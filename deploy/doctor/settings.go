package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/deploy/install"
	"sm/deploy/jsonedit"
)

// A settingsLayer is one of the files that make up the client's settings.
type settingsLayer struct {
	name   string
	path   string
	editor *install.Editor // nil if the file is broken
}

// settings checks the files of the settings, strongest first, and the result of all.
func (d *doctor) settings(ctx context.Context) {
	if d.SettingsErr != nil {
		d.broken("settings", "see the README on CLAUDE_CONFIG_DIR", "%v", d.SettingsErr)
		return
	}
	layers := []settingsLayer{d.readLayer("managed", d.Managed)}
	if d.Dir != "" {
		for _, name := range []string{"settings.local.json", "settings.json"} {
			if path := filepath.Join(d.Dir, ".claude", name); path != d.Settings {
				layers = append(layers, d.readLayer("project", path))
			}
		}
	}
	user := d.readLayer("user", d.Settings)
	layers = append(layers, user)
	if user.editor == nil {
		return
	}
	d.switches(layers)
	d.hooks(ctx, layers, user)
	d.statusLine(layers)
}

// editor reads a settings file that has to be editable. Errors leave out its path.
func (d *doctor) editor(path string) (*install.Editor, *install.File, error) {
	file, err := install.ReadFile(path)
	var doc *jsonedit.Text
	if err == nil {
		doc, err = file.Parse()
	}
	if err != nil {
		return nil, nil, errors.New(strings.TrimPrefix(err.Error(), path+": "))
	}
	e := install.NewEditor(doc, d.Program, d.Home)
	return e, file, e.Check()
}

func (d *doctor) readLayer(name, path string) settingsLayer {
	l := settingsLayer{name: name, path: path}
	e, file, err := d.editor(path)
	if err != nil {
		d.broken(
			"settings",
			"correct the file; the client may ignore all of it",
			"%v (%s)",
			err,
			path,
		)
		return l
	}
	l.editor = e
	if name == "user" {
		d.settingsFile(file, path)
	}
	if value, ok := e.Doc.At("env", memoryLimit).Text(); ok {
		d.memory(value, path)
	}
	return l
}

func (d *doctor) settingsFile(file *install.File, path string) {
	if !file.Exists() {
		d.ok("settings", "%s does not exist yet", path)
	} else if err := file.Writable(); err != nil {
		d.note("settings", "make it writable before sm install or sm uninstall", "%v", err)
	} else {
		d.ok("settings", "%s", path)
	}
}

// strongest returns a value and the strongest layer with it, nil for none.
func strongest(layers []settingsLayer, path ...string) (*jsonedit.Value, settingsLayer) {
	for _, l := range layers {
		if l.editor == nil {
			continue
		}
		if v := l.editor.Doc.At(path...); v != nil {
			return v, l
		}
	}
	return nil, settingsLayer{}
}

// switches checks the settings that turn all hooks off.
func (d *doctor) switches(layers []settingsLayer) {
	if v, l := strongest(layers, "disableAllHooks"); v.IsTrue() {
		d.broken(
			"hooks",
			"remove disableAllHooks there",
			"disableAllHooks in %s turns hooks and status line off",
			l.path,
		)
	}
	if v, l := strongest(layers[:1], "allowManagedHooksOnly"); v.IsTrue() {
		d.broken("hooks", "ask who manages this machine to allow other hooks, or to add ours",
			"allowManagedHooksOnly in %s turns all other hooks off", l.path)
	}
}

// statusLine checks the status line that the client shows.
func (d *doctor) statusLine(layers []settingsLayer) {
	const check = "status line"
	v, l := strongest(layers, "statusLine")
	if v == nil {
		d.note(check, "run sm install", "none; contexts are known from transcripts alone")
		return
	}
	command, _ := v.At("command").Text()
	original, wraps, own := l.editor.Unwrap(command)
	program := l.editor.StatusProgram(command)
	switch {
	case !own && l.name == "user":
		d.note(
			check,
			"run sm install, which keeps it and adds to it",
			"%s is not ours",
			plain.Quote(command),
		)
	case !own:
		d.note(check, "remove it there, or put sm statusline -- before its command",
			"%s in %s hides ours", plain.Quote(command), l.path)
	case program != "" && !install.Runnable(program):
		d.broken(check, programRemedy, "it calls %s, %s", program, missingProgram)
	case wraps:
		d.ok(check, "ours, with %s in it", plain.Quote(original))
	default:
		d.ok(check, "ours")
	}
}
