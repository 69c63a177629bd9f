package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/deploy"
	"sm/deploy/install"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// ownHooks returns sm's hooks for the events in all layers, the events without
// a hook, and the events with more than one.
func ownHooks(
	layers []*install.Editor,
	events ...hook.Event,
) (own []install.Hook, missing, twice []hook.Event) {
	for _, event := range events {
		before := len(own)
		for _, e := range layers {
			own = append(own, e.OwnHooks(event)...)
		}
		switch len(own) - before {
		case 0:
			missing = append(missing, event)
		case 1:
		default:
			twice = append(twice, event)
		}
	}
	return own, missing, twice
}

// hooks checks that each event runs one hook of sm.
func (d *doctor) hooks(ctx context.Context, layers []*install.Editor) {
	where := d.Settings
	remedy := "run sm install"
	by := ""
	if enabled, _ := strongest(layers, "enabledPlugins", deploy.PluginID); enabled.IsTrue() {
		plugin, err := d.plugin()
		if err != nil {
			d.broken("hooks", "run sm uninstall and sm install --plugin",
				"the plugin %s is enabled, and its hooks cannot be read: %v", deploy.PluginID, err)
			return
		}
		where = plugin.Path
		remedy = "run sm install --plugin"
		by = ", by the plugin " + deploy.PluginID
		layers = append(layers, plugin)
	}

	events := install.Claude().Events
	own, missing, twice := ownHooks(layers, events...)
	d.hooked = len(own) > 0
	guard, _, guardTwice := ownHooks(layers, hook.PreToolUse)
	twice = append(twice, guardTwice...)
	d.guard(len(guard) > 0)

	switch {
	case len(missing) == len(events):
		d.note("hooks", remedy, "watching only: not installed in %s, so agents get no notices", where)
		return
	case len(missing) > 0:
		d.broken("hooks", remedy, "%s has no hook for %s", where, eventNames(missing))
	case len(twice) > 0:
		d.note("hooks", remedy+", and remove those in the project's settings",
			"run more than once: %s", eventNames(twice))
	default:
		d.ok("hooks", "installed for %d events%s", len(events), by)
	}
	d.programs(ctx, "hooks", append(own, guard...))
}

// plugin opens the hooks file of sm's plugin in the client's copy, whose path
// is in a file of the client.
func (d *doctor) plugin() (*install.Editor, error) {
	list := filepath.Join(filepath.Dir(d.Settings), "plugins", "installed_plugins.json")
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all struct {
		Plugins map[string][]struct {
			Path string `json:"installPath"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	copies := all.Plugins[deploy.PluginID]
	if len(copies) == 0 {
		return nil, fmt.Errorf("%s does not list it", list)
	}
	path := filepath.Join(copies[0].Path, deploy.PluginHooksFile)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return d.Open(path)
}

// guard checks that the guard's hook is installed if and only if the guard is
// on.
func (d *doctor) guard(hooked bool) {
	switch {
	case d.Guard && !hooked:
		d.broken("guard", "run sm install --guard, or set guard.enabled to false",
			"guard.enabled is true, but there is no PreToolUse hook: no tool call is judged")
	case !d.Guard && hooked:
		d.note("guard", "set guard.enabled to true, or run sm install --guard=false",
			"there are PreToolUse hooks, but guard.enabled is false: they run at each tool call and judge none")
	case d.Guard:
		d.ok("guard", "on")
	default:
		d.ok("guard", "off")
	}
}

const (
	// missingProgram ends findings about programs in hooks or the status line.
	missingProgram = "which does not exist or is not executable"
	programRemedy  = "run sm install with an sm that stays where it is"
)

// programs checks the programs that hooks call, and the sockets of their
// arguments.
func (d *doctor) programs(ctx context.Context, check string, own []install.Hook) {
	commands := map[string][]string{} // program → arguments
	for _, h := range own {
		if program, args := h.Command(); program != "" {
			commands[program] = args
		}
	}
	for _, program := range slices.Sorted(maps.Keys(commands)) {
		d.program(ctx, check, program)
		sockets := d.HookSockets(commands[program][1:])
		if !slices.ContainsFunc(
			sockets,
			func(s string) bool { return slices.Contains(d.Sockets, s) },
		) {
			d.broken(check, "run sm install again", "they look for the observer at %s, and its socket is %s",
				strings.Join(sockets, ", "), strings.Join(d.Sockets, ", "))
		}
	}
}

func (d *doctor) program(ctx context.Context, check, program string) {
	path := program
	if !strings.Contains(program, "/") {
		path = proc.LookPath(d.Path, program)
	}
	small := filepath.Base(path) == install.SmallName
	whole := filepath.Join(filepath.Dir(path), "sm")
	where := install.PassingPlace(path, d.Temporary)
	switch {
	case !install.Runnable(path):
		d.broken(check, programRemedy, "they call %s, %s", program, missingProgram)
	case small && !install.Runnable(whole):
		d.broken(check, "put sm there, for example with make install, or "+programRemedy,
			"they call %s, which needs %s, %s", program, whole, missingProgram)
	case where != "":
		d.note(check, "install sm where it stays, for example with make install, and run sm install with that one",
			"they call %s, in %s, which is temporary", program, where)
	case small:
		d.smallVersion(ctx, check, program, path)
	default:
		d.smallBeside(ctx, check, program, path)
	}
}

// smallBeside notes a small program that hooks could call in place of sm.
func (d *doctor) smallBeside(ctx context.Context, check, program, path string) {
	small, _, err := install.Small(ctx, path, d.Version, d.Environ)
	if err != nil || small == "" {
		return // do not advise a program that does not answer
	}
	remedy := "run sm install"
	if check == codexHooks {
		remedy += ", and trust them anew in Codex"
	}
	d.note(check, remedy, "they call %s, and %s beside it starts faster",
		program, install.SmallName)
}

// smallVersion checks that the small program that hooks call has the version of this sm.
func (d *doctor) smallVersion(ctx context.Context, check, program, path string) {
	switch version, err := install.Ask(ctx, install.ProgramPatience, d.Environ, path, "version"); {
	case err != nil:
		d.note(check, "run sm doctor again, or replace it, for example with make install",
			"they call %s, which prints no version in time", program)
	case version != d.Version:
		d.note(check, "put sm and sm-hook of one version there, for example with make install, and run sm install again",
			"they call %s, which is %s, and this is %s", program, plain.Quote(version), d.Version)
	}
}

func eventNames(events []hook.Event) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}
