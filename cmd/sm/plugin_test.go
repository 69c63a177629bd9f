package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/deploy"
	"sm/deploy/install"
	"sm/deploy/jsonedit"
)

// pluginClientName calls this binary as a client that can only install plugins. It was made after
// watching the real one, and keeps its files as that does.
const pluginClientName = "sm-plugin-client"

func pluginClient() {
	c := &clientPlugins{dir: filepath.Join(os.Getenv("HOME"), ".claude")}
	if err := c.run(os.Args[1:]); err != nil {
		fmt.Println("working on it…\n" + err.Error())
		os.Exit(1)
	}
}

type clientPlugins struct{ dir string }

func (c *clientPlugins) run(args []string) error {
	if err := c.note(args); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.dir, "refuses "+strings.Join(args[:2], " "))); err == nil {
		return errors.New("✘ Failed: not today")
	}
	var settings map[string]any
	if err := c.load("settings.json", &settings); err != nil {
		return err
	}
	enabled, known := member(settings, "enabledPlugins"), member(settings, "extraKnownMarketplaces")
	installed := map[string]any{}
	dir := ""
	if m, ok := known[deploy.Marketplace].(map[string]any); ok {
		dir = fmt.Sprint(m["source"].(map[string]any)["path"])
	}
	cached := filepath.Join(c.dir, "plugins", "cache", "copy")
	switch line := strings.Join(args, " "); {
	case strings.HasPrefix(line, "plugin marketplace add "):
		known[deploy.Marketplace] = map[string]any{"source": map[string]any{"source": "directory", "path": args[3]}}
	case line == "plugin marketplace remove sm" && dir != "":
		delete(known, deploy.Marketplace)
	case line == "plugin install session-monitor@sm --scope user" && dir != "":
		if _, again := enabled[deploy.PluginID]; !again {
			if err := errors.Join(os.RemoveAll(cached), os.CopyFS(cached, os.DirFS(filepath.Join(dir, deploy.PluginName)))); err != nil {
				return err
			}
		}
		enabled[deploy.PluginID] = true
		installed[deploy.PluginID] = []any{map[string]any{"installPath": cached}}
	case line == "plugin uninstall session-monitor@sm --scope user" && enabled[deploy.PluginID] != nil:
		delete(enabled, deploy.PluginID)
	default:
		return fmt.Errorf("✘ Failed: %s", line)
	}
	return errors.Join(c.save("settings.json", settings), c.save("plugins/installed_plugins.json", map[string]any{"plugins": installed}))
}

func member(object map[string]any, name string) map[string]any {
	m, ok := object[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[name] = m
	}
	return m
}

// note keeps what the client was called for.
func (c *clientPlugins) note(args []string) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, strings.Join(args, " "))
	return errors.Join(err, f.Close())
}

func (c *clientPlugins) load(name string, v *map[string]any) error {
	*v = map[string]any{}
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(text, v))
}

func (c *clientPlugins) save(name string, v map[string]any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	path := filepath.Join(c.dir, name)
	return errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
}

// newPluginRig is a home in whose PATH such a client is.
func newPluginRig(t *testing.T) *installRig {
	t.Helper()
	client, err := exec.LookPath(pluginClientName)
	if err != nil {
		t.Fatal(err)
	}
	r := newInstallRig(t)
	r.write(r.home+"/path/claude", fmt.Sprintf("#!/bin/sh\ncase $1 in --version) echo '2.1.330 (Claude Code)';; *) exec '%s' \"$@\";; esac\n", client), 0o700)
	return r
}

// calls are what the client has been called for since the last time.
func (r *installRig) calls() (list []string) {
	r.t.Helper()
	path := r.dir + "/calls"
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(err, os.Remove(path)); err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		list = append(list, strings.ReplaceAll(strings.TrimSpace(line), r.home, "~"))
	}
	return list
}

// hooked counts the events with our hook: in the settings, and in the client's copy of the plugin while it is enabled.
func (r *installRig) hooked() (settings, plugin int) {
	r.t.Helper()
	count := func(path string) (n int) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return 0
		}
		doc, err := jsonedit.Parse([]byte(r.read(path)))
		if err != nil {
			r.t.Fatal(err)
		}
		e := install.NewEditor(doc, r.program, r.home)
		for _, event := range install.HookEvents("", true) {
			n += len(e.OwnHooks(event))
		}
		if path == r.path && doc.At("enabledPlugins", deploy.PluginID).IsTrue() {
			plugin = 1
		}
		return n
	}
	settings = count(r.path)
	if plugin == 1 {
		plugin = count(r.dir + "/plugins/cache/copy/hooks/hooks.json")
	}
	return settings, plugin
}

const (
	pluginAdd       = "plugin marketplace add ~/.local/share/sm/plugin"
	pluginInstall   = "plugin install session-monitor@sm --scope user"
	pluginUninstall = "plugin uninstall session-monitor@sm --scope user"
	pluginForget    = "plugin marketplace remove sm"
)

// TestPluginMoves goes from each state to each other: there are always either the plugin's hooks or those in the
// settings, and each event has one.
func TestPluginMoves(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	for i, c := range []struct {
		args             []string
		calls            []string
		settings, plugin int
	}{
		{[]string{"install", "--plugin"}, []string{pluginAdd, pluginInstall}, 0, 8},
		{[]string{"install", "--plugin"}, nil, 0, 8},
		{[]string{"install"}, []string{pluginUninstall, pluginForget}, 8, 0},
		{[]string{"install"}, nil, 8, 0},
		{[]string{"install", "--guard"}, nil, 9, 0},
		{[]string{"install", "--plugin"}, []string{pluginAdd, pluginInstall}, 0, 9},
		{[]string{"install", "--plugin"}, nil, 0, 9},
		{[]string{"install", "--plugin", "--guard=false"}, []string{pluginAdd, pluginUninstall, pluginInstall}, 0, 8},
		{[]string{"install", "--plugin", "--guard", "--socket", "/s"}, []string{pluginAdd, pluginUninstall, pluginInstall}, 0, 9},
		{[]string{"install"}, []string{pluginUninstall, pluginForget}, 9, 0},
		{[]string{"install", "--plugin", "--guard=false"}, []string{pluginAdd, pluginInstall}, 0, 8},
		{[]string{"uninstall"}, []string{pluginUninstall, pluginForget}, 0, 0},
		{[]string{"uninstall"}, nil, 0, 0},
		{[]string{"install", "--guard"}, nil, 9, 0},
		{[]string{"uninstall"}, nil, 0, 0},
	} {
		if got := r.run(c.args...); got.Code != 0 {
			t.Fatalf("%d: %q: %+v", i, c.args, got)
		}
		if diff := cmp.Diff(c.calls, r.calls()); diff != "" {
			t.Errorf("%d: %q (-want +got):\n%s", i, c.args, diff)
		}
		if settings, plugin := r.hooked(); settings != c.settings || plugin != c.plugin {
			t.Errorf("%d: %q: %d hooks in the settings and %d in the plugin, want %d and %d", i, c.args, settings, plugin, c.settings, c.plugin)
		}
		text := ""
		if _, err := os.Stat(r.path); err == nil || c.args[0] == "install" {
			text = r.read(r.path)
		}
		if line := strings.Contains(text, r.program+" statusline"); line != (c.args[0] == "install") {
			t.Errorf("%d: %q: status line %v", i, c.args, line)
		}
		_, err := os.Stat(r.home + "/.local/share/sm/plugin")
		if there := err == nil; there != (c.plugin > 0) {
			t.Errorf("%d: %q: the marketplace's folder: %v", i, c.args, err)
		}
		if socket := strings.Contains(text, "--socket"); socket != slices.Contains(c.args, "--socket") {
			t.Errorf("%d: %q: %s", i, c.args, text)
		}
	}
}

// TestPluginHooksCallUs: the plugin that is installed calls this program, which is maybe not in the client's PATH.
func TestPluginHooksCallUs(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	if got := r.run("install", "--plugin", "--socket", "/my socket"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	type handler struct {
		Type, Command string
		Args          []string
	}
	type handlerGroup struct{ Hooks []handler }
	var hooks struct {
		Hooks map[string][]handlerGroup
	}
	if err := json.Unmarshal([]byte(r.read(r.dir+"/plugins/cache/copy/hooks/hooks.json")), &hooks); err != nil {
		t.Fatal(err)
	}
	want := map[string][]handlerGroup{}
	for _, event := range install.HookEvents("", false) {
		want[string(event)] = []handlerGroup{{[]handler{{"command", r.program, []string{"hook", "--socket", "/my socket"}}}}}
	}
	if diff := cmp.Diff(want, hooks.Hooks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPluginDryRun(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	r.want(outcome{Out: installedLine}, "install")
	before := r.read(r.path)
	got := r.run("install", "--plugin", "--dry-run")
	want := "would write the plugin into ~/.local/share/sm/plugin\nwould run claude " + pluginAdd + "\nwould run claude " + pluginInstall + "\n--- ~/.claude/settings.json\n"
	if got.Code != 0 || !strings.HasPrefix(got.Out, want) || strings.Count(got.Out, "\n-") < 9 {
		t.Errorf("%+v", got)
	}
	if calls := r.calls(); len(calls) > 0 || r.read(r.path) != before {
		t.Errorf("it did something: %q", calls)
	}
	if got := r.run("install", "--plugin"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	r.calls()
	before = r.read(r.path)
	got = r.run("uninstall", "--dry-run")
	want = "would run claude " + pluginUninstall + "\nwould run claude " + pluginForget + "\nwould remove ~/.local/share/sm/plugin\n--- ~/.claude/settings.json\n"
	if got.Code != 0 || !strings.HasPrefix(got.Out, want) {
		t.Errorf("%+v", got)
	}
	if calls := r.calls(); len(calls) > 0 || r.read(r.path) != before {
		t.Errorf("it did something: %q", calls)
	}
}

// TestPluginLinked: where the marketplace's folder is a link to a folder of somebody else that holds the right files, nothing is
// written or removed through it: an installation of other files replaces the link, and an uninstallation removes it.
func TestPluginLinked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"uninstall"}, {"install"}, {"install", "--plugin"}, {"install", "--plugin", "--guard"}} {
		r := newPluginRig(t)
		r.done("install", "--plugin")
		dir, theirs := r.home+"/.local/share/sm/plugin", r.home+"/theirs"
		if err := errors.Join(os.Rename(dir, theirs), os.Symlink(theirs, dir)); err != nil {
			t.Fatal(err)
		}
		r.write(theirs+"/.claude-plugin/theirs", "", 0o600)
		if len(args) == 2 { // the same files: nothing is to be done
			if err := os.Remove(theirs + "/.claude-plugin/theirs"); err != nil {
				t.Fatal(err)
			}
		}
		held := func() map[string]string {
			all := map[string]string{}
			err := fs.WalkDir(os.DirFS(theirs), ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					all[name] = r.read(theirs + "/" + name)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return all
		}
		before := held()
		r.done(args...)
		if diff := cmp.Diff(before, held()); diff != "" || len(before) < 3 {
			t.Errorf("%q: their files (-want +got):\n%s", args, diff)
		}
		info, err := os.Lstat(dir)
		if linked := err == nil && info.Mode()&fs.ModeSymlink != 0; linked != (len(args) == 2) {
			t.Errorf("%q: the link: %t", args, linked)
		}
		r.done("uninstall")
		if _, err := os.Lstat(dir); err == nil || !cmp.Equal(before, held()) {
			t.Errorf("%q: after uninstall: %v", args, err)
		}
	}
}

// TestPluginRefusals: what cannot be done leaves what there was, and says what to do.
func TestPluginRefusals(t *testing.T) {
	t.Parallel()
	fails := func(text string) outcome { return outcome{1, "", "sm: " + text + "\n"} }
	t.Run("no client", func(t *testing.T) {
		r := newPluginRig(t)
		r.want(outcome{Out: installedLine}, "install")
		before := r.read(r.path)
		r.vars["PATH"] = r.home
		want := fails(`no claude in the PATH, which is to run "claude ` + pluginAdd + `"; put it there and try again`)
		want.ErrOut = assumedLine + want.ErrOut
		r.want(want, "install", "--plugin")
		if r.read(r.path) != before {
			t.Error("the settings have changed")
		}
	})
	t.Run("a client that refuses", func(t *testing.T) {
		r := newPluginRig(t)
		r.want(outcome{Out: installedLine}, "install")
		before, _ := r.hooked()
		r.write(r.dir+"/refuses plugin install", "", 0o600)
		r.want(fails("claude "+pluginInstall+": exit status 1: ✘ Failed: not today; run it yourself to see more"), "install", "--plugin")
		if after, plugin := r.hooked(); after != before || plugin != 0 {
			t.Errorf("%d hooks, and %d of a plugin", after, plugin)
		}
		if err := os.Remove(r.dir + "/refuses plugin install"); err != nil {
			t.Fatal(err)
		}
		if got := r.run("install", "--plugin"); got.Code != 0 {
			t.Errorf("again: %+v", got)
		}
		r.write(r.dir+"/refuses plugin uninstall", "", 0o600)
		refused := "claude " + pluginUninstall + ": exit status 1: ✘ Failed: not today; run it yourself to see more"
		r.want(fails(refused), "uninstall")
		if settings, plugin := r.hooked(); settings != 0 || plugin != 8 {
			t.Errorf("%d hooks, and %d of the plugin", settings, plugin)
		}
		both := fails(refused)
		for _, both.Out = range []string{installedLine, unchangedLine} { // what is done stays done
			r.want(both, "install")
			if settings, plugin := r.hooked(); settings != 8 || plugin != 8 {
				t.Errorf("%d hooks, and %d of the plugin", settings, plugin)
			}
		}
	})
	// What is installed stays until the client has taken all else, and is then brought up to date.
	for _, step := range []string{"marketplace", "uninstall"} {
		t.Run("upgrade "+step, func(t *testing.T) {
			r := newPluginRig(t)
			if got := r.run("install", "--plugin"); got.Code != 0 {
				t.Fatalf("%+v", got)
			}
			refuses := r.dir + "/refuses plugin " + step
			r.write(refuses, "", 0o600)
			for range 2 {
				if got := r.run("install", "--plugin", "--guard"); got.Code != 1 {
					t.Errorf("%+v", got)
				}
				if settings, plugin := r.hooked(); settings != 0 || plugin != 8 {
					t.Errorf("%d hooks, and %d of the plugin", settings, plugin)
				}
			}
			if err := os.Remove(refuses); err != nil {
				t.Fatal(err)
			}
			if got := r.run("install", "--plugin", "--guard"); got.Code != 0 {
				t.Errorf("again: %+v", got)
			}
			if settings, plugin := r.hooked(); settings != 0 || plugin != 9 {
				t.Errorf("%d hooks, and %d of the plugin", settings, plugin)
			}
			r.calls()
			if got := r.run("install", "--plugin"); got.Code != 0 || len(r.calls()) > 0 {
				t.Errorf("once more: %+v", got)
			}
		})
	}
	t.Run("broken settings", func(t *testing.T) {
		r := newPluginRig(t)
		r.write(r.path, `{"hooks":[]}`, 0o600)
		r.want(fails("~/.claude/settings.json: line 1: hooks is not an object; correct the file, it is untouched"), "install", "--plugin")
		r.write(r.path, `{}`, 0o400)
		r.want(fails("~/.claude/settings.json is read-only; run chmod u+w ~/.claude/settings.json"), "install", "--plugin")
		if calls := r.calls(); len(calls) > 0 {
			t.Errorf("the client was called: %q", calls)
		}
	})
}

// TestPluginMarketplaceElsewhere: a marketplace by our name that is another folder, say a checkout's, gives way.
func TestPluginMarketplaceElsewhere(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	r.write(r.path, `{"extraKnownMarketplaces":{"sm":{"source":{"source":"directory","path":"/src/sm/deploy/plugin"}}}}`, 0o600)
	if got := r.run("install", "--plugin"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]string{pluginForget, pluginAdd, pluginInstall}, r.calls()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPluginSwitchedOff: who installs it again wants it on.
func TestPluginSwitchedOff(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	if got := r.run("install", "--plugin"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	r.calls()
	r.write(r.path, strings.Replace(r.read(r.path), `"session-monitor@sm": true`, `"session-monitor@sm": false`, 1), 0o600)
	if got := r.run("install", "--plugin"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]string{pluginAdd, pluginUninstall, pluginInstall}, r.calls()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if settings, plugin := r.hooked(); settings != 0 || plugin != 8 {
		t.Errorf("%d hooks, and %d of the plugin", settings, plugin)
	}
}
