package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/internal/places"
	"sm/cmd/sm/internal/config"
	"sm/handoff"
	"sm/observer"
	"sm/observer/api"
	"sm/observer/demo"
)

// demoNotice is the first line of output about simulated agents.
const demoNotice = "demo mode: all agents are simulated"

// demo watches simulated agents until the context of cmd ends.
func (env *environ) demo(cmd *cobra.Command, cfg *config.Config, dryRun bool) (err error) {
	for _, name := range []string{"projects", "state"} {
		if cmd.Flags().Changed(name) {
			return usagef("--demo uses its own directories; omit --%s", name)
		}
	}
	dir, err := os.MkdirTemp("", "sm-demo-")
	if err != nil {
		return fmt.Errorf("%w; set TMPDIR to a folder that can be written", err)
	}
	defer func() {
		if e := os.RemoveAll(dir); e != nil {
			err = errors.Join(err, fmt.Errorf("%w; remove it by hand", e))
		}
	}()
	o, err := env.demoOptions(cmd, cfg, dir)
	if err != nil {
		return err
	}
	o.DryRun = dryRun
	made := missingDirs(filepath.Dir(o.Socket))
	defer func() {
		for _, d := range made {
			_ = os.Remove(d) // fails if another program uses it: it is not empty
		}
	}()
	greeted := quiet(env.Stderr, &o)
	ctx, cancel := context.WithCancelCause(cmd.Context())
	player := demo.New(time.Now(), dir, o.Logger)
	var failed error
	var beside sync.WaitGroup
	err = observer.Run(ctx, o, func(a *observer.App) {
		beside.Go(func() { env.greet(ctx, a, o, greeted) })
		beside.Go(func() {
			failed = player.Play(ctx, a)
			cancel(failed)
		})
	})
	cancel(nil)
	beside.Wait()
	return errors.Join(err, failed)
}

// demoOptions returns the options of an observer whose files are in dir: those
// of cfg, without the settings that concern real agents.
func (env *environ) demoOptions(
	cmd *cobra.Command,
	cfg *config.Config,
	dir string,
) (o observer.Options, err error) {
	flags := cmd.Flags()
	paths, nowhere := cfg.SocketPaths(env.Env)
	socket, _ := cfg.ServerSocket(env.Env)
	conn, err := api.Dial(paths)
	_, foreign := errors.AsType[*api.ForeignError](err)
	taken := nowhere != nil || foreign || err == nil
	if err == nil {
		conn.Close()
	}
	if taken && !flags.Changed("socket") {
		socket = filepath.Join(dir, places.SocketName)
	}
	for _, address := range cfg.Listen {
		l, err := net.Listen("tcp", address)
		taken = taken || errors.Is(err, syscall.EADDRINUSE)
		if err == nil {
			_ = l.Close() // nothing was accepted
		}
	}
	if taken && !flags.Changed("listen") {
		cfg.Listen = []string{"127.0.0.1:0"}
	}
	// The second listener serves scrapes from other machines, and the token is
	// for alerts about real agents.
	cfg.Metrics.Listen = ""
	cfg.Metrics.WebConfigFile = ""
	cfg.Alertmanager.URLs = nil
	cfg.HTTP.WebhookTokenFile = ""
	claude, codex := demo.Dirs(dir)
	cfg.Projects = []string{claude}
	cast := demo.Load()
	cfg.Cost.Prices = cast.Prices
	cfg.State = filepath.Join(dir, "state")
	cfg.Socket = socket
	cfg.Handoff = config.Default().Handoff
	cfg.Channels = nil
	for _, name := range cast.Projects {
		cfg.Channels = append(
			cfg.Channels,
			handoff.Channel{Name: name, Path: filepath.Join(dir, name)},
		)
	}
	cfg.Operator = config.Config{}.Operator
	if err := errors.Join(os.Mkdir(claude, 0o700), os.MkdirAll(codex, 0o700)); err != nil {
		return o, err
	}
	if o, err = env.observerOptions(cfg, false); err != nil {
		return o, err
	}
	o.Demo = true
	o.Terminal = nil
	o.Enqueuer = nil
	o.Ancestry = nil
	o.Clients = clientTable(nil, cfg.Projects, []string{codex})
	o.Alive = func(int, string) bool { return true }
	return o, nil
}

// missingDirs returns the folders of a path that do not exist, the deepest first.
func missingDirs(dir string) (missing []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
}
