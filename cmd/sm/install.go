package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/deploy/doctor"
	"sm/deploy/install"
)

func newInstallCommand(env *environ) *cobra.Command {
	var o install.Options
	codexAlone := false
	cmd := command(`install
Install hooks and status line

Add sm's hooks and status line to settings.json, in CLAUDE_CONFIG_DIR or ~/.claude. Other hooks, their order and all
other settings are unchanged. An existing status line still runs: sm prints its own figure before the output. A second
install changes nothing.

With --plugin the hooks are installed as a plugin by 'claude plugin', the status line as before. Hooks are installed in
one place only: each form removes the other.

If there is a folder of Codex, CODEX_HOME or ~/.codex, hooks are added to its hooks.json as well; with --codex, only
there.

$ sm install --dry-run
$ sm install --guard
$ sm install --codex

--codex install only the hooks of Codex
--dry-run print what would change, without changing it
--guard also check each tool call with the guard, and install the skill /session; --guard=false removes both
--plugin install the hooks as a plugin of the client
`, flags{
		"codex":   &codexAlone,
		"dry-run": &o.DryRun,
		"guard":   &o.Guard,
		"plugin":  &o.Plugin,
	}, func(cmd *cobra.Command, _ []string) (err error) {
		if _, err := env.Program(); err != nil {
			return err
		}
		cfg, err := env.config(cmd)
		if err != nil {
			return err
		}
		socket, err := cfg.ServerSocket(env.Env)
		if err != nil {
			return err
		}
		if !env.usual(socket) {
			o.Socket = socket
		}
		if err := fillInstallation(&o, env); err != nil {
			return err
		}
		o.NoGuard = cmd.Flags().Changed("guard") && !o.Guard
		var stale string
		o.Small, stale, err = install.Small(cmd.Context(), o.Program, versionOf(), o.Environ)
		if err != nil {
			// The user must trust hooks again in Codex if they call another program.
			return fmt.Errorf("nothing is changed: %w", err)
		}
		if stale != "" {
			env.note("note: %s belongs to another version of sm, so hooks call sm itself: "+
				"put the two of one version there, and install again", quote(stale))
		}
		err = installClients(cmd.Context(), env, o, codexAlone)
		if err != nil || o.DryRun {
			return err
		}
		return noteAfter(cmd.Context(), env, cfg, codexAlone)
	})
	cmd.MarkFlagsMutuallyExclusive("codex", "guard")
	cmd.MarkFlagsMutuallyExclusive("codex", "plugin")
	return cmd
}

// installClients installs for Claude Code and, if its folder exists, for Codex;
// with codexAlone for Codex only. An error about Codex's file does not prevent
// the installation for Claude Code.
func installClients(
	ctx context.Context,
	env *environ,
	o install.Options,
	codexAlone bool,
) error {
	if codexAlone {
		if o.Codex == "" {
			return errors.New("CODEX_HOME and HOME name no folder; set one of them to an absolute path")
		}
		// A missing default folder is created. Codex creates no other one itself.
		if info, err := os.Stat(o.Codex); filepath.IsAbs(env.Get("CODEX_HOME")) &&
			!errors.Is(err, fs.ErrPermission) &&
			(err != nil || !info.IsDir()) {
			return fmt.Errorf(
				"CODEX_HOME is %s, which is no folder; make it, or unset CODEX_HOME for ~/.codex",
				o.Codex,
			)
		}
		return o.Install(ctx, install.Codex())
	}
	if err := o.Install(ctx, install.Claude()); err != nil || !o.CodexThere() {
		return err
	}
	if err := o.Install(ctx, install.Codex()); err != nil {
		env.note("note: no hooks for Codex: %v", err)
	}
	return nil
}

// noteAfter prints the doctor's findings about the installed hooks and their
// requirements.
func noteAfter(
	ctx context.Context,
	env *environ,
	cfg *config.Config,
	codexAlone bool,
) error {
	checks := []string{"observer", "hooks", "guard"}
	if codexAlone {
		checks = []string{"observer", "codex hooks"}
	}
	cfg.Alertmanager.URLs = nil // they do not matter here
	o, err := doctorOptions(cfg, env)
	o.Dir = "" // the installation is for all projects
	for _, f := range doctor.Examine(ctx, o) {
		if f.Check == "codex hooks" && f.Status == doctor.Broken {
			continue // not trusted yet, as the installation has printed
		}
		if f.Remedy != "" && slices.Contains(checks, f.Check) {
			env.note("note: %s: %s; %s", f.Check, f.Text, f.Remedy)
		}
	}
	return err
}

func newUninstallCommand(env *environ) *cobra.Command {
	var o install.Options
	codexAlone := false
	return command(`uninstall
Remove hooks and status line

Remove sm's hooks and status line from settings.json, restore the earlier status line, and uninstall the plugin. If
nothing else has changed since the installation, the file is restored byte for byte; your own changes are kept. The
same applies to Codex's hooks.json.

$ sm uninstall

--codex uninstall only the hooks of Codex
--dry-run print what would change, without changing it
`, flags{
		"codex":   &codexAlone,
		"dry-run": &o.DryRun,
	}, func(cmd *cobra.Command, _ []string) error {
		if err := fillInstallation(&o, env); err != nil {
			return err
		}
		var err error
		if o.CodexThere() {
			err = o.Uninstall(cmd.Context(), install.Codex())
		}
		if codexAlone {
			return err
		}
		// An error about one client's file does not affect the other client.
		return errors.Join(o.Uninstall(cmd.Context(), install.Claude()), err)
	})
}

// fillInstallation sets the options that depend on the environment.
func fillInstallation(o *install.Options, env *environ) (err error) {
	o.Program, _ = env.Program() // own hooks are recognized by name too
	o.Codex, _ = env.CodexHome()
	o.Home, _ = env.Home() // without one, ~ is not expanded
	o.Path = env.Get("PATH")
	o.Environ = env.Vars()
	o.Stdout = env.Stdout
	if o.Settings, err = env.ClaudeSettings(); err != nil {
		return err
	}
	o.Data, err = env.XDGDir("XDG_DATA_HOME", filepath.Join(".local", "share"))
	if err != nil {
		return fmt.Errorf("find the place for the plugin: %w", err)
	}
	o.State, err = env.XDGDir("XDG_STATE_HOME", filepath.Join(".local", "state"))
	if err != nil {
		return fmt.Errorf("find the state directory: %w", err)
	}
	return nil
}

// usual reports whether commands find a socket without configuration and
// without SM_SOCKET.
func (env *environ) usual(socket string) bool {
	// The client may run without the variables of this shell.
	bare := func(name string) (string, bool) {
		if name == "SM_SOCKET" || name == "SM_STATE" {
			return "", false
		}
		return env.Env(name)
	}
	return slices.Contains(hooks.Sockets(bare, nil), socket)
}
