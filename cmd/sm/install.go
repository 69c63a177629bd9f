package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newInstallCommand(env *environ) *cobra.Command {
	var in installation
	var plugin bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put sm's hooks and status line into the client's settings",
		Long: "Put sm's hooks and status line into settings.json, in CLAUDE_CONFIG_DIR or ~/.claude. Other hooks, their order\n" +
			"and all other settings stay as they are. A status line that is there goes on: sm runs it and prints its own\n" +
			"figure before it. Doing it again changes nothing.\n\n" +
			"With --plugin the hooks come as a plugin, which 'claude plugin' installs; the status line cannot. There is either\n" +
			"the one or the other, so each moves the hooks from where they were.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if in.program, err = env.ownProgram(); err != nil {
				return err
			}
			if in.socket, err = env.unusualSocket(cmd); err != nil {
				return err
			}
			in.noGuard = cmd.Flags().Changed("guard") && !in.guard
			skill, err := env.skillChange(in.guard, in.noGuard)
			if err != nil { // before anything is changed
				return err
			}
			if plugin {
				err = env.installPlugin(cmd.Context(), &in)
			} else {
				err = env.installSettings(cmd.Context(), &in)
			}
			if err == nil && skill != nil {
				err = skill.do(env, in.dryRun)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "print what would change, and change nothing")
	cmd.Flags().BoolVar(&in.guard, "guard", false, "also have the guard judge each tool call, and install the skill /session; --guard=false takes that out")
	cmd.Flags().BoolVar(&plugin, "plugin", false, "install the hooks as a plugin of the client")
	return cmd
}

// An installation is what is to be installed.
type installation struct {
	program, socket        string
	dryRun, guard, noGuard bool
}

const installedText = "installed: new sessions report to the observer"

// installSettings puts the hooks into the settings, and then takes the plugin out: an event that comes twice does less
// harm than one that is missed.
func (env *environ) installSettings(ctx context.Context, in *installation) error {
	return env.changeSettings(in.dryRun, true, installedText, func(p *plugin, d *jsonText) ([]pluginStep, error) {
		in.guard = in.guard || !in.noGuard && p.guarded(env.settingsEditor(d, in.program))
		return p.uninstall(ctx, d), nil
	}, func(d *jsonText) error {
		e := env.settingsEditor(d, in.program)
		e.socket = in.socket
		return e.install(in.guard, in.noGuard)
	})
}

// installPlugin installs the plugin, and then takes the hooks out of the settings, for the same reason.
func (env *environ) installPlugin(ctx context.Context, in *installation) error {
	return env.changeSettings(in.dryRun, false, installedText, func(p *plugin, d *jsonText) ([]pluginStep, error) {
		e := env.settingsEditor(d, in.program)
		e.socket = in.socket
		files, err := p.files(e, in.guard || !in.noGuard && (e.guarded() || p.guarded(e)), in.noGuard)
		if err != nil {
			return nil, err
		}
		return p.install(ctx, d, files), nil
	}, func(d *jsonText) error {
		e := env.settingsEditor(d, in.program)
		e.socket = in.socket
		return e.installBeside()
	})
}

func newUninstallCommand(env *environ) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take sm's hooks and status line out of the client's settings",
		Long: "Take sm's hooks and status line out of settings.json, put back the status line that was there before, and have\n" +
			"the client remove the plugin, where that is installed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			skill, err := env.skillChange(false, true)
			if err != nil {
				return err
			}
			err = env.changeSettings(dryRun, false, "uninstalled", func(p *plugin, d *jsonText) ([]pluginStep, error) {
				return p.uninstall(cmd.Context(), d), nil
			}, func(d *jsonText) error {
				program, _ := env.ownProgram() // ours are known by their name too
				return env.settingsEditor(d, program).uninstall()
			})
			if err == nil && skill != nil {
				err = skill.do(env, dryRun)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change, and change nothing")
	return cmd
}

// skillChange is what becomes of the skill /session: it comes and goes with the guard, and is brought up to date where
// it is ours.
func (env *environ) skillChange(guard, noGuard bool) (*skillChange, error) {
	settings, err := env.settingsPath()
	if err != nil {
		return nil, err
	}
	path := skillPath(settings)
	if guard {
		return installSkill(path)
	}
	change := uninstallSkill(path)
	if noGuard || change == nil {
		return change, nil
	}
	return installSkill(path)
}

// changeSettings takes the steps that concern the plugin and edits the settings, which the client writes too: before
// them with editFirst, else after them. What would be refused in the end is refused before the first step.
func (env *environ) changeSettings(dryRun, editFirst bool, done string, steps func(*plugin, *jsonText) ([]pluginStep, error), edit func(*jsonText) error) error {
	p, err := env.plugin()
	if err != nil {
		return err
	}
	path, err := env.settingsPath()
	if err != nil {
		return err
	}
	file, err := readSettings(path)
	if err != nil {
		return err
	}
	var list []pluginStep
	var odd error
	_, err = file.edited(func(d *jsonText) error {
		if list, odd = steps(p, d); odd != nil {
			return odd
		}
		return edit(d)
	})
	switch {
	case odd != nil:
		return odd
	case err != nil:
		return err
	case len(list) > 0 && !dryRun:
		if err := file.writable(); err != nil {
			return err
		}
	}
	both := []func() error{
		func() error { return env.take(list, dryRun) },
		func() error { return env.editSettings(dryRun, done, edit) },
	}
	if editFirst {
		slices.Reverse(both)
	}
	for _, part := range both {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// settingsEditor edits the settings in d for the sm at program.
func (env *environ) settingsEditor(d *jsonText, program string) *settingsEditor {
	home, _ := env.home() // without one, ~ is of no help
	self, err := os.Stat(program)
	return &settingsEditor{doc: d, program: program, home: home, isOwn: func(name string) bool {
		return isOwnProgram(name, func(path string) bool {
			info, statErr := os.Stat(path)
			return err == nil && statErr == nil && os.SameFile(self, info)
		})
	}}
}

// editSettings changes the settings file, or shows how it would.
func (env *environ) editSettings(dryRun bool, done string, change func(*jsonText) error) error {
	path, err := env.settingsPath()
	if err != nil {
		return err
	}
	for range 3 { // the client may write at the same moment
		var file *settingsFile
		if file, err = readSettings(path); err != nil {
			return err
		}
		text, err2 := file.edited(change)
		if err2 != nil {
			return err2
		}
		if slices.Equal(text, file.text) {
			_, err = fmt.Fprintf(env.stdout, "%s: nothing to change\n", path)
			return err
		}
		if dryRun {
			_, err = fmt.Fprint(env.stdout, unifiedDiff(path, string(file.text), string(text)))
			return err
		}
		if err := file.writable(); err != nil {
			return err
		}
		if err = file.write(text); err == nil {
			_, err = fmt.Fprintf(env.stdout, "%s: %s\n", path, done)
			return err
		}
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w; close the sessions that write to it and try again", path, err)
}

// ownProgram is the path that the client is to call us by: as we were called, for a link such as ~/bin/sm outlives
// the version that it points to.
func (env *environ) ownProgram() (string, error) {
	self, err := env.executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w; call it by its path", err)
	}
	info, err := os.Stat(self)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("this program has been replaced or removed since it started; run it again")
	}
	if err != nil {
		return "", fmt.Errorf("find this program: %w; call it by its path", err)
	}
	if strings.HasPrefix(self, filepath.Join(os.TempDir(), "go-build")) {
		return "", errors.New("this program will be gone when it ends; build it first, with 'make build'")
	}
	if called, err := exec.LookPath(env.calledAs); err == nil {
		if called, err = filepath.Abs(called); err == nil {
			if other, err := os.Stat(called); err == nil && os.SameFile(info, other) {
				return called, nil
			}
		}
	}
	return self, nil
}

// unusualSocket is what --socket of the hooks must say: the observer's socket, unless the hooks find it by themselves.
// They do not read the configuration.
func (env *environ) unusualSocket(cmd *cobra.Command) (string, error) {
	cfg, err := loadConfig(cmd.Flags(), env)
	if err != nil {
		return "", err
	}
	socket, err := serverSocket(cfg, env)
	if err != nil {
		return "", err
	}
	// What is set for this shell alone says nothing about where the client runs.
	bare := *env
	bare.lookupEnv = func(name string) (string, bool) {
		if name == "SM_SOCKET" || name == "SM_STATE" {
			return "", false
		}
		return env.lookupEnv(name)
	}
	if slices.Contains(bare.clientSockets(nil), socket) {
		return "", nil
	}
	return socket, nil
}
