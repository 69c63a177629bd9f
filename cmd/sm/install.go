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

	"sm/deploy/jsonedit"
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
			if in.client, err = env.clientOfSettings(cmd.Context()); err != nil {
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
				err = env.changeSkill(skill, in.dryRun)
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
	client                 string // its version, "" for a current one
	dryRun, guard, noGuard bool
}

func (in *installation) editor(env *environ, d *jsonedit.Text) *settingsEditor {
	e := env.settingsEditor(d, in.program)
	e.socket, e.client = in.socket, in.client
	return e
}

// clientOfSettings is the version to write for.
func (env *environ) clientOfSettings(ctx context.Context) (string, error) {
	settings, err := env.settingsPath()
	if err != nil {
		return "", err
	}
	return env.clientToInstallFor(ctx, filepath.Dir(settings))
}

const installedText = "installed: new sessions report to the observer"

// installSettings puts the hooks into the settings, and then takes the plugin out: an event that comes twice does less
// harm than one that is missed.
func (env *environ) installSettings(ctx context.Context, in *installation) error {
	return env.changeSettings(&settingsChange{dryRun: in.dryRun, editFirst: true, done: installedText,
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) {
			in.guard = in.guard || !in.noGuard && p.guarded(in.editor(env, d))
			return p.uninstall(ctx, d), nil
		},
		edit: func(d, before *jsonedit.Text) error {
			e := in.editor(env, d)
			e.before = before
			return e.install(in.guard, in.noGuard)
		},
	})
}

// installPlugin installs the plugin, and then takes the hooks out of the settings, for the same reason.
func (env *environ) installPlugin(ctx context.Context, in *installation) error {
	return env.changeSettings(&settingsChange{dryRun: in.dryRun, done: installedText,
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) {
			e := in.editor(env, d)
			files, err := p.files(e, in.guard || !in.noGuard && (e.guarded() || p.guarded(e)), in.noGuard)
			if err != nil {
				return nil, err
			}
			return p.install(ctx, d, files), nil
		},
		edit: func(d, before *jsonedit.Text) error {
			e := in.editor(env, d)
			e.before = before
			return e.installBeside()
		},
	})
}

func newUninstallCommand(env *environ) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take sm's hooks and status line out of the client's settings",
		Long: "Take sm's hooks and status line out of settings.json, put back the status line that was there before, and have\n" +
			"the client remove the plugin, where that is installed. Where nothing else has changed since, the file gets back\n" +
			"every byte that it had; what you have changed meanwhile stays.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.uninstall(cmd.Context(), dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change, and change nothing")
	return cmd
}

func (env *environ) uninstall(ctx context.Context, dryRun bool) error {
	skill, err := env.skillChange(false, true)
	if err != nil {
		return err
	}
	err = env.changeSettings(&settingsChange{dryRun: dryRun, uninstall: true, done: "uninstalled",
		steps: func(p *plugin, d *jsonedit.Text) ([]pluginStep, error) { return p.uninstall(ctx, d), nil },
	})
	if err == nil && skill != nil {
		err = env.changeSkill(skill, dryRun)
	}
	if err != nil || dryRun {
		return err
	}
	settings, err := env.settingsPath()
	if err != nil {
		return err
	}
	record, err := env.installRecord(settings)
	if err != nil {
		return err
	}
	return record.forget()
}

// changeSkill writes or removes the skill, and its folders where they are the installation's own.
func (env *environ) changeSkill(c *skillChange, dryRun bool) error {
	if dryRun {
		return c.do(env, dryRun)
	}
	settings, err := env.settingsPath()
	if err != nil {
		return err
	}
	record, err := env.installRecord(settings)
	if err != nil {
		return err
	}
	if missing := missingFolders(filepath.Dir(c.file.path)); c.text != nil && len(missing) > 0 {
		record.note(missing)
		if err := record.store(); err != nil {
			return err
		}
	}
	err = c.do(env, dryRun)
	if err == nil && c.text == nil {
		record.removeMade()
	}
	return err
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

// settingsEditor edits the settings in d for the sm at program.
func (env *environ) settingsEditor(d *jsonedit.Text, program string) *settingsEditor {
	home, _ := env.lookupEnv.Home() // without one, ~ is of no help
	self, err := os.Stat(program)
	return &settingsEditor{doc: d, program: program, home: home, isOwn: func(name string) bool {
		return isOwnProgram(name, func(path string) bool {
			info, statErr := os.Stat(path)
			return err == nil && statErr == nil && os.SameFile(self, info)
		})
	}}
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
	socket, err := cfg.ServerSocket(env.lookupEnv)
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
