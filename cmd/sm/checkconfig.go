package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/dashboards/page"
)

func newCheckConfigCommand(env *environ) *cobra.Command {
	show := false
	return command(`check-config [FILE]
Check the configuration

Read the configuration from defaults, file, environment and flags, as all other commands do, and check it. Without
FILE the file that would be used is checked.

$ sm check-config
$ sm check-config --print              # to start a file with, under another name than the one in use

--print print the effective configuration instead
`, flags{
		"print": &show,
	}, func(cmd *cobra.Command, args []string) error {
		flags := cmd.Flags()
		if len(args) > 0 {
			if flags.Changed("config") {
				return usagef("give FILE or --config, not both")
			}
			_ = flags.Set("config", args[0]) // takes any text
		}
		source, cfg, err := env.load(flags)
		if err != nil {
			return err
		}
		warnStray(env)
		if err := env.checkStart(cfg); err != nil {
			return err
		}
		if len(cfg.Operator.Notify) > 0 {
			if _, err := exec.LookPath(cfg.Operator.Notify[0]); err != nil {
				env.note(
					"warning: operator.notify: %v; no notification would be sent: give an existing program",
					err,
				)
			}
		} else if cfg.Operator.Waiting > 0 {
			env.note("warning: operator.waiting: notices are only logged: set operator.notify")
		}
		if show {
			return cfg.Print(env.Stdout)
		}
		_, err = fmt.Fprintln(env.Stdout, source.Verdict())
		return err
	})
}

// checkStart returns an error if an observer would not start with this
// configuration.
func (env *environ) checkStart(cfg *config.Config) error {
	if _, err := cfg.WebhookToken(); err != nil {
		return err
	}
	silent := *env
	silent.Stderr = io.Discard
	o, err := silent.observerOptions(cfg, false)
	if err != nil {
		return err
	}
	_, err = page.New(page.Options{Servers: cfg.Prometheus})
	return errors.Join(o.Check(), err)
}

// warnStray warns about environment variables that have sm's prefix and set no
// key.
func warnStray(env *environ) {
	// These identify an agent to the commands inside it and set no key.
	for _, v := range config.Stray(
		env.Vars(),
		"SM_PARENT_ID",
		"SM_PROVIDER",
		"SM_NAME",
		hooks.InsideStatusline,
	) {
		hint := ""
		if v[1] != "" {
			hint = "; did you mean " + v[1] + "?"
		}
		env.note("warning: variable %s sets nothing%s", v[0], hint)
	}
}
