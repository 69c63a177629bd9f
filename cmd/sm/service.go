package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/deploy/service"
)

func newServiceCommand(env *environ) *cobra.Command {
	return command(`service install|remove|status
Run the observer as a user service: install, status, remove

Run the observer at each login, restart it when it fails, and keep its addresses open while it restarts, with
systemd's user manager, or launchd on macOS. Root is not needed. To keep it running without a login, run
'loginctl enable-linger' once.

$ sm service install --dry-run
$ sm service install
$ sm service status
$ sm service remove
`, nil, nil,
		serviceStep(env, `install
Write the units, and start the service now and at each login

$ sm service install

--dry-run print what would be done, without doing it
`, service.Install),
		serviceStep(env, `status
Show whether the units are in place, and what the service does

The exit code is 1 if one is missing, unless the service runs with those of a package.

$ sm service status
`, service.Status),
		serviceStep(env, `remove
Stop the service and take its units away

$ sm service remove

--dry-run print what would be done, without doing it
`, service.Remove),
	)
}

func serviceStep(
	env *environ,
	help string,
	do func(context.Context, service.Options) error,
) *cobra.Command {
	dryRun := false
	return command(help, flags{
		"dry-run": &dryRun,
	}, func(cmd *cobra.Command, _ []string) error {
		cfg, err := env.config(cmd)
		if err != nil {
			return err
		}
		o, err := serviceOptions(env, cfg)
		if err != nil {
			return err
		}
		// The service needs the flags that identify the observer.
		o.Args = givenFlags(cmd, "config", "socket")
		for i := 1; i < len(o.Args); i += 2 {
			o.Args[i], _ = filepath.Abs(o.Args[i]) // as it was found above
		}
		o.DryRun = dryRun
		return do(cmd.Context(), o)
	})
}

func serviceOptions(env *environ, cfg *config.Config) (o service.Options, err error) {
	if o.Program, err = env.Program(); err != nil {
		return o, err
	}
	if o.Home, err = env.Home(); err != nil {
		return o, fmt.Errorf("find the place for the service: %w", err)
	}
	o.Config, _ = env.XDGDir("XDG_CONFIG_HOME", ".config") // there is a home
	if o.Socket, err = cfg.ServerSocket(env.Env); err != nil {
		return o, err
	}
	o.System = runtime.GOOS
	o.UID = os.Getuid()
	o.Out = env.Stdout
	o.Listen = service.Openable(cfg.Listen)
	o.Run = service.Runner(env.Vars())
	return o, nil
}
