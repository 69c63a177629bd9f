package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/internal/caller"
	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/deploy/doctor"
)

func newDoctorCommand(env *environ) *cobra.Command {
	asJSON := false
	return command(`doctor
Check the installation and suggest fixes

Check the clients, their settings, tmux, the system and the observer, and suggest a fix for each problem. What is
broken comes last; then the exit code is 1. Without hooks the agents are only watched, which is a note.

$ sm doctor
$ sm doctor --json

--json print JSON
`, flags{
		"json": &asJSON,
	}, func(cmd *cobra.Command, _ []string) error {
		cfg, err := env.config(cmd)
		if err != nil {
			return err
		}
		o, err := doctorOptions(cfg, env)
		if err != nil {
			return err
		}
		findings := doctor.Examine(cmd.Context(), o)
		err = env.answer(asJSON, "findings", struct {
			Findings []doctor.Finding `json:"findings"`
		}{findings}, nil)
		broken := func(f doctor.Finding) bool { return f.Status == doctor.Broken }
		if err == nil && slices.ContainsFunc(findings, broken) {
			err = &exitError{code: exitFailed}
		}
		return err
	})
}

// doctorOptions returns the doctor's options for a configuration and an
// environment.
func doctorOptions(cfg *config.Config, env *environ) (o doctor.Options, err error) {
	asked := alertmanagers(cfg)
	o = doctor.Options{
		TokenFile:     cfg.HTTP.WebhookTokenFile,
		Alertmanagers: asked.Failing,
		HookSockets:   func(args []string) []string { return hooks.Sockets(env.Env, args) },
		Managed:       caller.ManagedSettings(),
		Guard:         cfg.Guard.Enabled,
		Proc:          "/proc",
		Now:           time.Now(),
		Temporary:     cmp.Or(env.Get("TMPDIR"), "/tmp"),
		Version:       versionOf(),
	}
	o.Dir, _ = env.workDir()              // a removed directory has no settings
	_ = fillInstallation(&o.Options, env) // an unknown place for plugins does not matter
	_, o.SettingsErr = env.ClaudeSettings()
	o.Projects, o.ProjectsErr = cfg.ProjectDirs(env.Env)
	_, o.TokenErr = cfg.WebhookToken()
	o.Sockets, err = cfg.SocketPaths(env.Env)
	return o, err
}
