package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sm/deploy"
	"sm/deploy/jsonedit"
	"sm/handoff/proc"
)

// pluginPatience is how long the client may take to add or remove a plugin.
const pluginPatience = 2 * time.Minute

// pluginUnfinished is a file in the marketplace's folder for as long as the client may have a copy of what was there before.
const pluginUnfinished = "unfinished"

// A plugin is our hooks in the client's own packaging: a folder that the client knows as a marketplace, and what it has
// installed from there. The settings say whether it is installed.
type plugin struct {
	in  *installation
	dir string // the marketplace's folder, ours alone
}

// A pluginStep is what an installation does besides editing the settings.
type pluginStep struct {
	says string
	do   func() error
}

func (in *installation) plugin() *plugin {
	return &plugin{in, filepath.Join(in.Data, "sm", "plugin")}
}

// pluginInstalled says whether the client has the plugin, by the settings in d; one that is switched off is installed.
func pluginInstalled(d *jsonedit.Text) bool { return d.At("enabledPlugins", deploy.PluginID) != nil }

// marketplaceKnown says whether the client knows a marketplace by our name, and where that is.
func marketplaceKnown(d *jsonedit.Text) (path string, known bool) {
	path, _ = d.At("extraKnownMarketplaces", deploy.Marketplace, "source", "path").Text()
	return path, d.At("extraKnownMarketplaces", deploy.Marketplace) != nil
}

// files are those of the marketplace, with hooks as e would install them.
func (p *plugin) files(e *Editor, guard bool) (map[string][]byte, error) {
	all, err := filesIn(deploy.Plugin())
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w; build sm again", err)
	}
	doc, err := jsonedit.Parse(all[deploy.PluginHooks])
	if err != nil {
		return nil, fmt.Errorf("read the plugin's hooks: %w; build sm again", err)
	}
	hooks := *e
	hooks.Doc = doc
	if err := hooks.installHooks(guard); err != nil {
		return nil, err
	}
	all[deploy.PluginHooks] = hooks.Doc.Bytes
	return all, nil
}

// guarded says whether the hooks written last have the guard's.
func (p *plugin) guarded(e *Editor) bool {
	text, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(deploy.PluginHooks)))
	if err != nil {
		return false
	}
	hooks := *e
	if hooks.Doc, err = jsonedit.Parse(text); err != nil {
		return false
	}
	return hooks.guarded()
}

// holds says whether the folder has these files and no others.
func (p *plugin) holds(files map[string][]byte) bool {
	found, err := filesIn(os.DirFS(p.dir))
	return err == nil && maps.EqualFunc(files, found, bytes.Equal)
}

// filesIn are the files of a folder, by their paths with slashes.
func filesIn(folder fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	return all, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all[name], err = fs.ReadFile(folder, name)
		return err
	})
}

// write replaces the folder.
func (p *plugin) write(files map[string][]byte) (err error) {
	parent := filepath.Dir(p.dir)
	fail := func(err error) error {
		return fmt.Errorf("write into %s: %w; check its owner, mode and free space", parent, PlainError(err))
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fail(err)
	}
	fresh, err := os.MkdirTemp(parent, tempPattern(tempFolder))
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(fresh))
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fail(err)
		}
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			return fail(err)
		}
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return fail(err)
	}
	if err := os.Rename(fresh, p.dir); err != nil {
		return fail(err)
	}
	return nil
}

// run is the step that lets the client do something with its plugins.
func (p *plugin) run(ctx context.Context, args ...string) pluginStep {
	args = append([]string{"plugin"}, args...)
	words := []string{"claude"}
	for _, arg := range args {
		words = append(words, ShellQuote(arg))
	}
	line := strings.Join(words, " ")
	return pluginStep{"run " + line, func() error {
		client := proc.LookPath(p.in.Path, "claude")
		if client == "" {
			return fmt.Errorf("no claude in the PATH, which is to run %q; put it there and try again", line)
		}
		ctx, cancel := context.WithTimeout(ctx, pluginPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, client, args...)
		cmd.Env, cmd.WaitDelay = p.in.Environ, time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s; run it yourself to see more", line, err, lastLine(out))
		}
		return nil
	}}
}

// install are the steps to these files as the client's plugin, none when it has them.
func (p *plugin) install(ctx context.Context, d *jsonedit.Text, files map[string][]byte) []pluginStep {
	place, known := marketplaceKnown(d)
	installed := pluginInstalled(d)
	if d.At("enabledPlugins", deploy.PluginID).IsTrue() && known && place == p.dir && p.holds(files) {
		return nil
	}
	write := pluginStep{"write the plugin into " + p.dir, func() error {
		marked := maps.Clone(files)
		marked[pluginUnfinished] = nil
		return p.write(marked)
	}}
	add, last := p.run(ctx, "marketplace", "add", p.dir), p.run(ctx, "install", deploy.PluginID, "--scope", "user")
	install := pluginStep{last.says, func() error {
		if err := last.do(); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(p.dir, pluginUnfinished)); err != nil {
			return fmt.Errorf("finish the plugin: %w; check the folder's owner and mode", err)
		}
		return nil
	}}
	// The client copies a plugin when it installs it, and never looks again while the version is the same. What is there
	// goes as late as possible: while it is gone no event is heard.
	var gone []pluginStep
	if installed {
		gone = append(gone, p.run(ctx, "uninstall", deploy.PluginID, "--scope", "user"))
	}
	if known && place != p.dir { // with a marketplace its plugins may go, so ours goes before
		gone = append(gone, p.run(ctx, "marketplace", "remove", deploy.Marketplace))
		return append(append([]pluginStep{write}, gone...), add, install)
	}
	return append(append([]pluginStep{write, add}, gone...), install)
}

// uninstall are the steps to no plugin, none when there is none.
func (p *plugin) uninstall(ctx context.Context, d *jsonedit.Text) (steps []pluginStep) {
	if pluginInstalled(d) {
		steps = append(steps, p.run(ctx, "uninstall", deploy.PluginID, "--scope", "user"))
	}
	if place, known := marketplaceKnown(d); known && place == p.dir {
		steps = append(steps, p.run(ctx, "marketplace", "remove", deploy.Marketplace))
	}
	if _, err := os.Lstat(p.dir); err == nil {
		steps = append(steps, pluginStep{"remove " + p.dir, func() error {
			if err := os.RemoveAll(p.dir); err != nil {
				return fmt.Errorf("remove %s: %w; check its owner and mode", p.dir, PlainError(err))
			}
			return nil
		}})
	}
	return steps
}

// removeEntries takes out of the settings what the client writes there for the plugin, and the members that are empty then
// and were not there before. The client leaves those.
func (p *plugin) removeEntries(d, before *jsonedit.Text) error {
	paths := [][]string{{"enabledPlugins", deploy.PluginID}}
	if place, known := marketplaceKnown(d); known && place == p.dir {
		paths = append(paths, []string{"extraKnownMarketplaces", deploy.Marketplace})
	}
	for _, path := range append(paths, []string{"enabledPlugins"}, []string{"extraKnownMarketplaces"}) {
		v := d.At(path...)
		if len(path) == 1 && (before == nil || before.At(path...) != nil || !v.IsObject() || len(v.Children) > 0) {
			continue
		}
		if err := d.Remove(path...); err != nil {
			return err
		}
	}
	return nil
}

// take carries steps out, or says what they would be.
func (in *installation) take(steps []pluginStep) error {
	for _, s := range steps {
		do := s.do
		if in.DryRun {
			do = func() error { return in.print("would %s\n", s.says) }
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
