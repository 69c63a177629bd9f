package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/deploy"
	"sm/deploy/install"
	"sm/deploy/jsonedit"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// A settingsLayer is one of the files that the client puts its settings together from.
type settingsLayer struct {
	name   string
	path   string
	editor *install.Editor // nil: not there, or broken
}

// settings examines the files, strongest first, and what they add up to.
func (d *doctor) settings(ctx context.Context) {
	if d.SettingsErr != nil {
		d.found("settings", Broken, "see the README on CLAUDE_CONFIG_DIR", "%v", d.SettingsErr)
		return
	}
	layers := []*settingsLayer{{name: "managed", path: d.Managed}}
	if d.Dir != "" {
		for _, name := range []string{"settings.local.json", "settings.json"} {
			if path := filepath.Join(d.Dir, ".claude", name); path != d.Settings {
				layers = append(layers, &settingsLayer{name: "project", path: path})
			}
		}
	}
	own := &settingsLayer{name: "user", path: d.Settings}
	layers = append(layers, own)
	for _, l := range layers {
		d.readLayer(l)
		d.memoryInSettings(l)
	}
	if own.editor == nil {
		return
	}
	d.switches(layers)
	d.hooks(ctx, layers, own)
	d.statusLine(layers)
}

// edited reads a file of settings, which must be right. Errors leave out its path.
func (d *doctor) edited(path string, edit func(doc *jsonedit.Text, program, home string) *install.Editor) (e *install.Editor, file *install.File, err error) {
	file, err = install.ReadFile(path)
	if err == nil {
		var doc *jsonedit.Text
		if doc, err = file.Parse(); err == nil {
			e = edit(doc, d.Program, d.Home)
			err = e.Check()
		}
	}
	if err != nil {
		return nil, nil, errors.New(strings.TrimPrefix(err.Error(), path+": "))
	}
	return e, file, nil
}

func (d *doctor) readLayer(l *settingsLayer) {
	e, file, err := d.edited(l.path, install.NewEditor)
	if err != nil {
		d.found("settings", Broken, "correct the file; the client may ignore all of it", "%v (%s)", err, l.path)
		return
	}
	l.editor = e
	switch {
	case l.name != "user":
	case !file.Exists():
		d.found("settings", Healthy, "", "%s is not there yet", l.path)
	default:
		if err := file.Writable(); err != nil {
			d.found("settings", Noted, "make it writable before sm install or sm uninstall", "%v", err)
			return
		}
		d.found("settings", Healthy, "", "%s", l.path)
	}
}

// strongest gives a value of the strongest layer that has it.
func strongest(layers []*settingsLayer, path ...string) (v *jsonedit.Value, from *settingsLayer) {
	for _, l := range layers {
		if l.editor == nil {
			continue
		}
		if v := l.editor.Doc.At(path...); v != nil {
			return v, l
		}
	}
	return nil, nil
}

// switches finds what turns all hooks off.
func (d *doctor) switches(layers []*settingsLayer) {
	if v, l := strongest(layers, "disableAllHooks"); v.IsTrue() {
		d.found("hooks", Broken, "remove disableAllHooks there", "disableAllHooks in %s turns hooks and status line off", l.path)
	}
	if v, l := strongest(layers[:1], "allowManagedHooksOnly"); v.IsTrue() {
		d.found("hooks", Broken, "ask who manages this machine to allow other hooks, or to add ours",
			"allowManagedHooksOnly in %s turns all other hooks off", l.path)
	}
}

// hooks examines whether each event reaches us, once.
func (d *doctor) hooks(ctx context.Context, layers []*settingsLayer, own *settingsLayer) {
	plugin, ok := d.plugin(layers, own)
	if !ok {
		return
	}
	where, remedy, by := own.path, "run sm install", ""
	if plugin != nil {
		where, remedy, by = plugin.path, "run sm install --plugin", ", by the plugin "+deploy.PluginID
		layers = append(slices.Clone(layers), plugin)
	}
	var missing, doubled []hook.Event
	ours := hookCounts{commands: map[string][]string{}}
	for _, event := range install.HookEvents("", true) {
		n := ours.count(layers, event)
		if event == hook.PreToolUse {
			d.guard(n > 0)
		}
		switch {
		case n == 0 && event != hook.PreToolUse: // that is the guard's, which few want
			missing = append(missing, event)
		case n > 1:
			doubled = append(doubled, event)
		}
	}
	switch {
	case len(missing) == len(install.HookEvents("", false)):
		d.found("hooks", Noted, remedy, "not installed in %s; agents are not warned", where)
		return
	case len(missing) > 0:
		d.found("hooks", Broken, remedy, "%s has none for %s", where, eventNames(missing))
	case len(doubled) > 0:
		d.found("hooks", Noted, remedy+", and remove those in the project's settings", "run more than once: %s", eventNames(doubled))
	default:
		d.found("hooks", Healthy, "", "installed for %d events%s", len(install.HookEvents("", false)), by)
	}
	if c, old := d.withoutArgs(); old && ours.direct {
		d.found("hooks", Broken, remedy, "they are written for %s and later, and a client is %s", install.ArgsClient, c)
	}
	d.programs(ctx, "hooks", ours.commands)
}

// hookCounts is what our hooks in settings call.
type hookCounts struct {
	commands map[string][]string // program → its arguments
	direct   bool                // some run without a shell
}

// count looks at our hooks of an event in all layers, and counts them.
func (o *hookCounts) count(layers []*settingsLayer, event hook.Event) (n int) {
	for _, l := range layers {
		if l.editor == nil {
			continue
		}
		for _, path := range l.editor.OwnHooks(event) {
			n++
			v := l.editor.Doc.At(path...)
			if program, args := l.editor.HookCommand(v); program != "" {
				o.commands[program] = args
			}
			o.direct = o.direct || v.At("args") != nil
		}
	}
	return n
}

// plugin is a layer with the plugin's hooks, nil where it is not in force. When nobody can say what it has, ok is
// false.
func (d *doctor) plugin(layers []*settingsLayer, own *settingsLayer) (l *settingsLayer, ok bool) {
	if enabled, _ := strongest(layers, "enabledPlugins", deploy.PluginID); !enabled.IsTrue() {
		return nil, true
	}
	dir, err := installedPlugin(filepath.Join(filepath.Dir(own.path), "plugins", "installed_plugins.json"))
	if err == nil {
		l = &settingsLayer{name: "plugin", path: filepath.Join(dir, filepath.FromSlash(deploy.PluginHooksFile))}
		var text []byte
		if text, err = os.ReadFile(l.path); err == nil {
			var doc *jsonedit.Text
			doc, err = jsonedit.Parse(text)
			l.editor = install.NewEditor(doc, d.Program, d.Home)
		}
	}
	if err != nil {
		d.found("hooks", Broken, "run sm uninstall and sm install --plugin", "the plugin %s is enabled, and what it has cannot be read: %v", deploy.PluginID, err)
		return nil, false
	}
	return l, true
}

// installedPlugin is where the client has its copy of our plugin. The file is the client's own.
func installedPlugin(path string) (dir string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var all struct {
		Plugins map[string][]struct {
			Path string `json:"installPath"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	copies := all.Plugins[deploy.PluginID]
	if len(copies) == 0 {
		return "", fmt.Errorf("%s does not name it", path)
	}
	return copies[0].Path, nil
}

// guard examines whether tool calls are both asked about and decided.
func (d *doctor) guard(asks bool) {
	switch on := d.Guard; {
	case on && !asks:
		d.found("guard", Broken, "run sm install --guard, or set guard.enabled to false",
			"guard.enabled is true, but no PreToolUse hook is installed: no tool call is judged")
	case !on && asks:
		d.found("guard", Noted, "set guard.enabled to true, or run sm install --guard=false",
			"PreToolUse hooks are installed, but guard.enabled is false: each tool call is asked about, and none is judged")
	case on:
		d.found("guard", Healthy, "", "on")
	default:
		d.found("guard", Healthy, "", "off")
	}
}

// programs examines what hooks call.
func (d *doctor) programs(ctx context.Context, check string, commands map[string][]string) {
	for _, program := range slices.Sorted(maps.Keys(commands)) {
		args, path := commands[program], program
		if !strings.Contains(program, "/") {
			path = proc.LookPath(d.Path, program)
		}
		if !runnable(path) {
			d.found(check, Broken, "run sm install with the sm that is to stay", "they call %s, which is not there or no program", program)
		} else if whole := filepath.Join(filepath.Dir(path), "sm"); filepath.Base(path) == install.SmallName && !runnable(whole) {
			d.found(check, Broken, "put sm there, say with make install, or run sm install with the one that is to stay",
				"they call %s, which needs %s, which is not there or no program", program, whole)
		} else if where := install.PassingPlace(path, d.Temporary); where != "" {
			d.found(check, Noted, "put sm where it stays, say with make install, and run sm install with that one", "they call %s, in %s, which does not last", program, where)
		} else {
			d.small(ctx, check, program, path)
		}
		if asked := d.HookSockets(args[1:]); !slices.ContainsFunc(asked, func(s string) bool { return slices.Contains(d.Sockets, s) }) {
			d.found(check, Broken, "run sm install again", "they look for the observer at %s, and it is to be at %s",
				strings.Join(asked, ", "), strings.Join(d.Sockets, ", "))
		}
	}
}

// runnable says whether a path is a program.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// small examines whether hooks call the small program where they could, and whether it is that of this sm.
func (d *doctor) small(ctx context.Context, check, program, path string) {
	if filepath.Base(path) != install.SmallName {
		// A program that does not answer is no advice.
		if small, _, err := install.Small(ctx, path, d.Version, d.Environ); err == nil && small != "" {
			remedy := "run sm install"
			if check == codexHooks {
				remedy += ", and trust them anew in Codex"
			}
			d.found(check, Noted, remedy, "they call %s, and %s beside it starts faster", program, install.SmallName)
		}
		return
	}
	switch says, err := install.SmallVersion(ctx, path, d.Environ); {
	case err != nil:
		d.found(check, Noted, "run sm doctor again, or put another one there, say with make install", "they call %s, which does not say its version in time", program)
	case says != d.Version:
		d.found(check, Noted, "put sm and sm-hook of one version there, say with make install, and run sm install again",
			"they call %s, which says %s, and this is %s", program, plain.Quote(says), d.Version)
	}
}

// statusLine examines which one is shown: the strongest layer's.
func (d *doctor) statusLine(layers []*settingsLayer) {
	v, l := strongest(layers, "statusLine")
	if v == nil {
		d.found("status line", Noted, "run sm install", "none; contexts are known from transcripts alone")
		return
	}
	command, _ := v.At("command").Text()
	original, wraps, own := l.editor.Unwrap(command)
	program := l.editor.StatusProgram(command)
	switch {
	case !own && l.name == "user":
		d.found("status line", Noted, "run sm install, which keeps it and adds to it", "%s is not ours", plain.Quote(command))
	case !own:
		d.found("status line", Noted, "remove it there, or put sm statusline -- before its command", "%s in %s hides ours", plain.Quote(command), l.path)
	case program != "" && !runnable(program):
		d.found("status line", Broken, "run sm install with the sm that is to stay", "it calls %s, which is not there or no program", program)
	case wraps:
		d.found("status line", Healthy, "", "ours, with %s in it", plain.Quote(original))
	default:
		d.found("status line", Healthy, "", "ours")
	}
}

// inotify examines what the system lets one user watch.
func (d *doctor) inotify() {
	const fewInstances, spareWatches = 16, 1024
	instances, err := d.limit("max_user_instances")
	watches, err2 := d.limit("max_user_watches")
	if errors.Is(err, fs.ErrNotExist) {
		d.found("inotify", Healthy, "", "not on this system; files are looked at each second")
		return
	}
	if err := errors.Join(err, err2); err != nil {
		d.found("inotify", Noted, "see inotify(7)", "its limits cannot be read: %v", err)
		return
	}
	need := spareWatches
	for _, dir := range d.Projects {
		entries, _ := os.ReadDir(dir)
		need += 2 * len(entries) // a project has its sessions' subagents below it
	}
	text := fmt.Sprintf("%d instances and %d watches for each user", instances, watches)
	switch {
	case instances < fewInstances:
		d.found("inotify", Noted, "run sysctl fs.inotify.max_user_instances=128", "%s; other programs may use them up, and sm would look each second instead", text)
	case watches < need:
		d.found("inotify", Noted, fmt.Sprintf("run sysctl fs.inotify.max_user_watches=%d", max(2*need, 65536)), "%s; about %d are wanted here", text, need)
	default:
		d.found("inotify", Healthy, "", "%s", text)
	}
}

func (d *doctor) limit(name string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(d.Proc, "sys/fs/inotify", name))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}

func eventNames(events []hook.Event) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}
