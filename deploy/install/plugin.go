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
	"strings"
	"time"

	"sm/deploy"
	"sm/handoff/files"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// pluginPatience limits the duration of a step of the client.
const pluginPatience = 2 * time.Minute

// pluginUnfinished is a file in the marketplace's folder. While it exists, the
// client's copy may be of older files.
const pluginUnfinished = "unfinished"

// The hooks as a plugin consist of a marketplace, which is a folder, and of the
// client's copy of its plugin. The settings list both.

// uninstallStep returns the step in which the client uninstalls the plugin, none
// if it is not installed. A disabled plugin counts as installed.
func (in *installation) uninstallStep(ctx context.Context, e *Editor) []step {
	if e.Doc.At("enabledPlugins", deploy.PluginID) == nil {
		return nil
	}
	return []step{in.run(ctx, "uninstall", deploy.PluginID, "--scope", "user")}
}

// marketplace reports whether the client has a marketplace with sm's name, and
// its path.
func (e *Editor) marketplace() (path string, known bool) {
	path, _ = e.Doc.At("extraKnownMarketplaces", deploy.Marketplace, "source", "path").Text()
	return path, e.Doc.At("extraKnownMarketplaces", deploy.Marketplace) != nil
}

// pluginFiles returns the files of the marketplace, with hooks for this installation.
func (in *installation) pluginFiles(hooks []hook.Event) (map[string][]byte, error) {
	all, err := filesIn(deploy.Plugin())
	if err != nil {
		return nil, err
	}
	e, err := in.edit(&File{text: all[deploy.PluginHooks]})
	if err != nil {
		return nil, err
	}
	e.setHooks(hooks)
	all[deploy.PluginHooks] = e.Doc.Bytes
	return all, nil
}

// pluginGuarded reports whether the plugin in the marketplace has the guard's
// hook.
func (in *installation) pluginGuarded() bool {
	file, err := ReadFile(filepath.Join(in.plugin, deploy.PluginHooks))
	if err != nil {
		return false
	}
	e, err := in.edit(file)
	return err == nil && e.guarded()
}

// filesIn returns the contents of the files of a folder by their
// slash-separated paths.
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

// writePlugin replaces the marketplace's folder and marks it as unfinished.
func (in *installation) writePlugin(files map[string][]byte) error {
	fresh := in.plugin + ".new"
	err := os.RemoveAll(fresh)
	for name, text := range files {
		path := filepath.Join(fresh, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, text, 0o600))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(fresh, pluginUnfinished), nil, 0o600))
	if err == nil {
		err = errors.Join(os.RemoveAll(in.plugin), os.Rename(fresh, in.plugin))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; check its owner, mode and free space", in.plugin, err)
	}
	return nil
}

// run returns a step that runs the client.
func (in *installation) run(ctx context.Context, args ...string) step {
	args = append([]string{"plugin"}, args...)
	line := shellLine(append([]string{"claude"}, args...))
	return step{"run " + line, func() error {
		client := proc.LookPath(in.Path, "claude")
		if client == "" {
			return fmt.Errorf("no claude in the PATH, which is to run %q; put it there and try again",
				line)
		}
		ctx, cancel := context.WithTimeout(ctx, pluginPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, client, args...)
		cmd.Env = in.Environ
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := strings.TrimSpace(lines[len(lines)-1])
			return fmt.Errorf("%s: %w: %s; run it yourself to see more", line, err, last)
		}
		return nil
	}}
}

// installPlugin returns the steps to install the plugin with these hooks, none
// if it is installed already.
func (in *installation) installPlugin(
	ctx context.Context,
	e *Editor,
	hooks []hook.Event,
) ([]step, error) {
	files, err := in.pluginFiles(hooks)
	if err != nil {
		return nil, err
	}
	place, known := e.marketplace()
	other := known && place != in.plugin
	if e.Doc.At("enabledPlugins", deploy.PluginID).IsTrue() && known && !other {
		found, err := filesIn(os.DirFS(in.plugin))
		if err == nil && maps.EqualFunc(files, found, bytes.Equal) {
			return nil, nil
		}
	}
	add := in.run(ctx, "marketplace", "add", in.plugin)
	last := in.run(ctx, "install", deploy.PluginID, "--scope", "user")
	// The client copies a plugin when it installs it, and keeps the copy while the
	// version is the same. An older copy is removed as late as possible, because
	// events are missed without it, but before its marketplace is removed, which
	// may remove the plugin too.
	steps := []step{{
		"write the plugin into " + in.plugin,
		func() error { return in.writePlugin(files) },
	}}
	if !other {
		steps = append(steps, add)
	}
	steps = append(steps, in.uninstallStep(ctx, e)...)
	if other {
		steps = append(steps, in.run(ctx, "marketplace", "remove", deploy.Marketplace), add)
	}
	return append(steps, step{last.text, func() error {
		if err := last.do(); err != nil {
			return err
		}
		return os.Remove(filepath.Join(in.plugin, pluginUnfinished)) // its error has the path
	}}), nil
}

// uninstallPlugin returns the steps to remove the plugin, none if there is no
// plugin.
func (in *installation) uninstallPlugin(ctx context.Context, e *Editor) (steps []step) {
	steps = in.uninstallStep(ctx, e)
	if place, _ := e.marketplace(); place == in.plugin {
		steps = append(steps, in.run(ctx, "marketplace", "remove", deploy.Marketplace))
	}
	if _, err := os.Lstat(in.plugin); err == nil && in.client.more {
		steps = append(steps, step{"remove " + in.plugin, func() error {
			if err := os.RemoveAll(in.plugin); err != nil {
				return fmt.Errorf("remove %s: %w; check its owner and mode",
					in.plugin, files.Plain(err))
			}
			return nil
		}})
	}
	return steps
}
