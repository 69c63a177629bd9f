package doctor

import (
	"context"
	"path/filepath"

	"sm/dashboards/screen/plain"
	"sm/deploy/install"
	"sm/deploy/jsonedit"
)

// settings checks the settings files, the strongest first, and the settings
// that result.
func (d *doctor) settings(ctx context.Context) {
	if d.SettingsErr != nil {
		d.broken("settings", "see the README on CLAUDE_CONFIG_DIR", "%v", d.SettingsErr)
		return
	}
	paths := []string{d.Managed}
	if d.Dir != "" {
		for _, name := range []string{"settings.local.json", "settings.json"} {
			if path := filepath.Join(d.Dir, ".claude", name); path != d.Settings {
				paths = append(paths, path)
			}
		}
	}
	var layers []*install.Editor
	for _, path := range append(paths, d.Settings) {
		e := d.layer(path)
		if e != nil {
			layers = append(layers, e)
		} else if path == d.Settings {
			return
		}
	}
	if v, l := strongest(layers, "disableAllHooks"); v.IsTrue() {
		d.broken("hooks", "remove disableAllHooks there",
			"disableAllHooks in %s turns hooks and status line off", l.Path)
	}
	if v, l := strongest(layers, "allowManagedHooksOnly"); v.IsTrue() && l.Path == d.Managed {
		d.broken("hooks", "ask who manages this machine to allow other hooks, or to add ours",
			"allowManagedHooksOnly in %s turns all other hooks off", l.Path)
	}
	d.hooks(ctx, layers)
	d.statusLine(layers)
}

// layer checks one of the settings files. It returns nil if the file is broken.
func (d *doctor) layer(path string) *install.Editor {
	e, err := d.Open(path)
	if err != nil {
		d.broken("settings", "correct the file; the client may ignore all of it",
			"%v (%s)", err, path)
		return nil
	}
	if path == d.Settings {
		if !e.Exists() {
			d.ok("settings", "%s does not exist yet", path)
		} else if err := e.Writable(); err != nil {
			d.note("settings", "make it writable before sm install or sm uninstall", "%v", err)
		} else {
			d.ok("settings", "%s", path)
		}
	}
	if value, ok := e.Doc.At("env", memoryLimit).Text(); ok {
		d.memory(value, path)
	}
	return e
}

// strongest returns a value and the strongest layer that has it, or nil.
func strongest(layers []*install.Editor, path ...string) (*jsonedit.Value, *install.Editor) {
	for _, e := range layers {
		if v := e.Doc.At(path...); v != nil {
			return v, e
		}
	}
	return nil, nil
}

// statusLine checks the status line in effect.
func (d *doctor) statusLine(layers []*install.Editor) {
	const check = "status line"
	v, l := strongest(layers, "statusLine")
	if v == nil {
		d.note(check, "run sm install", "none; contexts are known from transcripts alone")
		return
	}
	command, _ := v.At("command").Text()
	original, wraps, own := l.Unwrap(command)
	program := l.StatusProgram(command)
	switch {
	case !own && l.Path == d.Settings:
		d.note(check, "run sm install, which keeps it and adds to it",
			"%s is not ours", plain.Quote(command))
	case !own:
		d.note(check, "remove it there, or put sm statusline -- before its command",
			"%s in %s hides ours", plain.Quote(command), l.Path)
	case program != "" && !install.Runnable(program):
		d.broken(check, programRemedy, "it calls %s, %s", program, missingProgram)
	case wraps:
		d.ok(check, "ours, with %s in it", plain.Quote(original))
	default:
		d.ok(check, "ours")
	}
}
