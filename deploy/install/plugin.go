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
	"sm/deploy/jsonedit"
	"sm/handoff/proc"
)

// pluginPatience is how long the client may take for a step.
const pluginPatience = 2 * time.Minute

// pluginUnfinished is a file in the marketplace's folder while the client may have a
// copy of older files.
const pluginUnfinished = "unfinished"

// A plugin is our hooks in the packaging of the client: a folder that is a marketplace,
// and the copy that the client has installed from it. The settings list both.
type plugin struct {
	in  *installation
	dir string // the marketplace's folder, ours alone
}

func (in *installation) plugin() *plugin {
	return &plugin{in, filepath.Join(in.Data, "sm", "plugin")}
}

// pluginInstalled reports whether the client has the plugin, switched on or off.
func pluginInstalled(d *jsonedit.Text) bool {
	return d.At("enabledPlugins", deploy.PluginID) != nil
}

// marketplaceKnown reports whether the client has a marketplace by our name, and its path.
func marketplaceKnown(d *jsonedit.Text) (path string, known bool) {
	path, _ = d.At("extraKnownMarketplaces", deploy.Marketplace, "source", "path").Text()
	return path, d.At("extraKnownMarketplaces", deploy.Marketplace) != nil
}

// editor returns an editor of the plugin's hooks.
func (p *plugin) editor(text []byte) (*Editor, error) {
	doc, err := jsonedit.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the plugin's hooks: %w; build sm again", err)
	}
	return p.in.editor(doc), nil
}

// files returns the files of the marketplace, with hooks for this installation.
func (p *plugin) files(guard bool) (map[string][]byte, error) {
	all, err := filesIn(deploy.Plugin())
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w; build sm again", err)
	}
	e, err := p.editor(all[deploy.PluginHooks])
	if err != nil {
		return nil, err
	}
	e.setHooks(e.client.events(guard))
	all[deploy.PluginHooks] = e.Doc.Bytes
	return all, nil
}

// guarded reports whether the marketplace has the guard's hook.
func (p *plugin) guarded() bool {
	text, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(deploy.PluginHooks)))
	if err != nil {
		return false
	}
	e, err := p.editor(text)
	return err == nil && e.guarded()
}

// holds reports whether the folder has just these files.
func (p *plugin) holds(files map[string][]byte) bool {
	found, err := filesIn(os.DirFS(p.dir))
	return err == nil && maps.EqualFunc(files, found, bytes.Equal)
}

// filesIn returns the files of a folder by their paths with slashes.
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

// write replaces the folder, which is unfinished then.
func (p *plugin) write(files map[string][]byte) error {
	fresh := p.dir + ".new"
	err := os.RemoveAll(fresh)
	for name, text := range files {
		path := filepath.Join(fresh, filepath.FromSlash(name))
		err = errors.Join(
			err,
			os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, text, 0o600),
		)
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(fresh, pluginUnfinished), nil, 0o600))
	if err == nil {
		err = errors.Join(os.RemoveAll(p.dir), os.Rename(fresh, p.dir))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; check its owner, mode and free space", p.dir, err)
	}
	return nil
}

// run returns a step that runs the client.
func (p *plugin) run(ctx context.Context, args ...string) step {
	args = append([]string{"plugin"}, args...)
	line := shellLine(append([]string{"claude"}, args...))
	return step{"run " + line, func() error {
		client := proc.LookPath(p.in.Path, "claude")
		if client == "" {
			return fmt.Errorf(
				"no claude in the PATH, which is to run %q; put it there and try again",
				line,
			)
		}
		ctx, cancel := context.WithTimeout(ctx, pluginPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, client, args...)
		cmd.Env = p.in.Environ
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s; run it yourself to see more", line, err, lastLine(out))
		}
		return nil
	}}
}

// install returns the steps to install these files, none if they are installed.
func (p *plugin) install(
	ctx context.Context,
	d *jsonedit.Text,
	files map[string][]byte,
) []step {
	place, known := marketplaceKnown(d)
	installed := pluginInstalled(d)
	if d.At("enabledPlugins", deploy.PluginID).IsTrue() && known && place == p.dir &&
		p.holds(files) {
		return nil
	}
	write := step{"write the plugin into " + p.dir, func() error { return p.write(files) }}
	add := p.run(ctx, "marketplace", "add", p.dir)
	last := p.run(ctx, "install", deploy.PluginID, "--scope", "user")
	install := step{last.text, func() error {
		if err := last.do(); err != nil {
			return err
		}
		return os.Remove(filepath.Join(p.dir, pluginUnfinished)) // its error has the path
	}}
	// The client copies a plugin when it installs it, and keeps the copy while the
	// version is the same. An older one goes as late as possible: without it events
	// are missed. Without its marketplace a plugin may go, so ours goes before.
	steps := []step{write}
	other := known && place != p.dir
	if !other {
		steps = append(steps, add)
	}
	if installed {
		steps = append(steps, p.run(ctx, "uninstall", deploy.PluginID, "--scope", "user"))
	}
	if other {
		steps = append(steps, p.run(ctx, "marketplace", "remove", deploy.Marketplace), add)
	}
	return append(steps, install)
}

// uninstall returns the steps to remove the plugin, none without one.
func (p *plugin) uninstall(ctx context.Context, d *jsonedit.Text) (steps []step) {
	if pluginInstalled(d) {
		steps = append(steps, p.run(ctx, "uninstall", deploy.PluginID, "--scope", "user"))
	}
	if place, known := marketplaceKnown(d); known && place == p.dir {
		steps = append(steps, p.run(ctx, "marketplace", "remove", deploy.Marketplace))
	}
	if _, err := os.Lstat(p.dir); err == nil && p.in.client.more {
		steps = append(steps, step{"remove " + p.dir, func() error {
			if err := os.RemoveAll(p.dir); err != nil {
				return fmt.Errorf("remove %s: %w; check its owner and mode", p.dir, PlainError(err))
			}
			return nil
		}})
	}
	return steps
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
