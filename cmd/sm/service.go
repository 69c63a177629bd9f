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
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Run the observer as a user service: install, status, remove",
		Long: "Run the observer at each login, restart it when it fails, and keep its addresses open while it restarts, with\n" +
			"systemd's user manager, or launchd on macOS. Root is not needed. To keep it running without a login, run\n" +
			"'loginctl enable-linger' once.",
		Example: "  sm service install --dry-run\n  sm service install\n  sm service status\n  sm service remove",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		serviceStep(
			env,
			"install",
			"Write the units, and start the service now and at each login",
			service.Install,
			true,
		),
		serviceStep(
			env,
			"status",
			"Say whether the units are in place, and what the service does",
			service.Status,
			false,
		),
		serviceStep(
			env,
			"remove",
			"Stop the service and take its units away",
			service.Remove,
			true,
		),
	)
	return cmd
}

func serviceStep(
	env *environ,
	name, short string,
	do func(context.Context, service.Options) error,
	dry bool,
) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: "  sm service " + name,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.config(cmd)
			if err != nil {
				return err
			}
			o, err := serviceOptions(env, cfg)
			if err != nil {
				return err
			}
			if o.Args, err = givenPaths(cmd); err != nil {
				return err
			}
			o.DryRun = dryRun
			return do(cmd.Context(), o)
		},
	}
	if dry {
		cmd.Flags().BoolVar(
			&dryRun,
			"dry-run",
			false,
			"print what would be done, without doing it",
		)
	}
	return cmd
}

// givenPaths are the flags that the service needs as well: those that say which observer it is.
func givenPaths(cmd *cobra.Command) (args []string, err error) {
	for _, name := range []string{"config", "socket"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			path, err := filepath.Abs(f.Value.String())
			if err != nil {
				return nil, err
			}
			args = append(args, "--"+name, path)
		}
	}
	return args, nil
}

func serviceOptions(env *environ, cfg *config.Config) (o service.Options, err error) {
	if o.Program, err = env.Program(); err != nil {
		return o, err
	}
	if o.Home, err = env.LookupEnv.Home(); err != nil {
		return o, fmt.Errorf("find the place for the service: %w", err)
	}
	if o.Config, err = env.LookupEnv.XDGDir("XDG_CONFIG_HOME", ".config"); err != nil {
		return o, fmt.Errorf("find the place for the service: %w", err)
	}
	if o.Socket, err = cfg.ServerSocket(env.LookupEnv); err != nil {
		return o, err
	}
	o.System, o.UID, o.Out, o.Listen, o.Run = runtime.GOOS, os.Getuid(), env.Stdout, service.Openable(cfg.Listen), service.Runner(env.Vars())
	return o, nil
}
