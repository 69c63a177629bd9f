package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/view"
	"sm/dashboards/screen/plain"
	"sm/deploy/service"
	"sm/handoff/files"
	"sm/handoff/proc"
	"sm/observer"
	"sm/observer/access"
	"sm/observer/history"
	"sm/observer/history/report"
	"sm/transcript"
)

func newObserveCommand(env *environ) *cobra.Command {
	dryRun := false
	demo := false
	return command(`observe
Watch all sessions, export metrics and serve the other commands

Watch the transcripts of this user's sessions until interrupted, and show the totals on /metrics and in
'sm status'. The totals are kept in the state directory and survive a restart.

With --demo it watches simulated agents instead, in a temporary directory that is removed at the end. It reads no real
transcripts, keeps no state, types nothing, sends no notification and ignores hooks of real agents. It uses the usual
socket and port, or its own socket and a free port where another program has them.

$ sm observe
$ sm observe --demo             # simulated agents, to look around
$ sm observe --projects ~/.claude/projects --listen 127.0.0.1:8420

--demo watch simulated agents in a temporary directory
--dry-run send nothing to agents or the operator; log it instead
--listen serve HTTP on the loopback address <ADDR>; repeatable
--projects watch only the transcripts in and below <DIR>; repeatable; a folder in CODEX_HOME is watched as well
--state keep state in <DIR>
`, flags{
		"dry-run":  &dryRun,
		"demo":     &demo,
		"projects": new([]string),
		"listen":   new([]string),
	}, func(cmd *cobra.Command, _ []string) error {
		if err := emptyFlag(cmd.Flags()); err != nil {
			return err
		}
		source, cfg, err := env.load(cmd.Flags())
		if err != nil {
			return err
		}
		debug.SetGCPercent(garbagePercent(0))
		if demo {
			return env.demo(cmd, cfg, dryRun)
		}
		return env.observe(cmd, &source, cfg, dryRun)
	})
}

// observe watches the sessions until the context of cmd ends.
func (env *environ) observe(
	cmd *cobra.Command,
	source *config.Source,
	cfg *config.Config,
	dryRun bool,
) error {
	flags := cmd.Flags()
	o, err := env.observerOptions(cfg, flags.Changed("projects"))
	if err != nil {
		return err
	}
	greeted := quiet(env.Stderr, &o)
	if o.Passed, err = access.PassedBySystemd(); err != nil {
		return err
	}
	o.DryRun = dryRun
	o.Reload = env.reload(source, flags, cfg, o.Logger)
	ctx, cancel := context.WithCancelCause(cmd.Context())
	watcher := env.watchConfig(source.Path)
	defer signal.Stop(watcher.hangups)
	notifier := service.NewNotifier(env.Env, o.Logger)
	var beside sync.WaitGroup
	err = observer.Run(ctx, o, func(a *observer.App) {
		beside.Go(func() { env.greet(ctx, a, o, greeted) })
		beside.Go(func() { notifier.Run(ctx, a) })
		beside.Go(func() { cancel(watcher.run(ctx, a.Reload)) })
	})
	cancel(nil)
	beside.Wait()
	return err
}

// emptyFlag returns an error if a flag was set to an empty value, for example
// to an unset variable of a script: the user did not mean the default.
func emptyFlag(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if isList && slices.Contains(list.GetSlice(), "") ||
			!isList && f.Value.String() == "" {
			err = usagef("--%s is empty", f.Name)
		}
	})
	return err
}

// greet shows the progress of the first reading on a terminal, and then where
// to look at the sessions. Afterwards it calls greeted.
func (env *environ) greet(
	ctx context.Context,
	a *observer.App,
	o observer.Options,
	greeted func(),
) {
	if !o.Demo && !term.IsTerminal(env.Stderr) {
		return
	}
	wipe := term.ShowProgress(env.Stderr, progressText(o.Stats))
	select {
	case <-a.Ready():
		wipe()
		fmt.Fprint(env.Stderr, greeting(a.Addrs(), o, env.called(o.Socket)))
		greeted()
		if !o.Demo {
			printRecent(ctx, env.Stderr, o, time.Now(), env.program())
		}
	case <-ctx.Done():
		wipe()
	}
}

// printRecent prints a line with the costs of compactions in the last 30 days,
// if there were any. It reads the transcripts with one worker, and prints
// nothing after ctx has ended. sm is the command that runs this program.
func printRecent(
	ctx context.Context,
	stderr io.Writer,
	o observer.Options,
	now time.Time,
	sm string,
) {
	since := now.AddDate(0, 0, -30)
	h, err := history.Read(ctx, history.Options{
		Clients: o.Clients,
		Since:   since,
		Workers: 1,
	}, slices.DeleteFunc(o.Watched(), func(dir string) bool { return !files.IsDir(dir) }))
	if history.Fatal(err) {
		return
	}
	r, err := report.Of(ctx, h, report.Options{
		Policy:  o.Settings.Alerts,
		Windows: o.Settings.Windows,
		Since:   transcript.InstantOf(since),
		Now:     now,
	})
	debug.FreeOSMemory()
	if err == nil && ctx.Err() == nil {
		_ = (&view.Printer{Writer: stderr}).Print("recent", struct {
			*report.Report
			Program string
		}{r, sm}) // the terminal is gone
	}
}

// program returns the command that runs this program: sm if the PATH leads to
// it, else the name by which the user has called it.
func (env *environ) program() string {
	if files.Same(env.CalledAs, proc.LookPath(env.Get("PATH"), "sm")) {
		return "sm"
	}
	return env.CalledAs
}

// called returns the command that runs this program for the observer at a
// socket.
func (env *environ) called(socket string) string {
	sm := env.program()
	if !env.usual(socket) {
		sm += " --socket " + plain.ShellQuote(socket)
	}
	return sm
}

// greeting returns a text with what the observer watches, the address of the
// page and the command for the list. sm is the command that runs this program.
func greeting(addrs []net.Addr, o observer.Options, sm string) string {
	n := int(o.Stats.Parked.Load() + o.Stats.Live.Load() + o.Stats.Failed.Load())
	what := "Watching " + view.Counted(n, "transcript") + " in " + strings.Join(o.Watched(), ", ")
	if o.Demo {
		what = "Demo: all agents are simulated; Ctrl-C ends it"
	} else if n == 0 {
		what += "; --demo shows simulated agents"
	}
	text := plain.Line(what) + "\n"
	for _, addr := range addrs {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			text += fmt.Sprintf("http://%s (or: %s open)\n", tcp, sm)
			break
		}
	}
	return text + sm + " top in another terminal\n"
}

// quiet limits the log on a terminal to warnings until end is called, as the
// greeting shows the rest. In a demo the limit stays: errors on a terminal,
// else warnings. quiet does nothing if the level is debug.
func quiet(stderr io.Writer, o *observer.Options) (end func()) {
	usual := o.Level.Level()
	terminal := term.IsTerminal(stderr)
	if !terminal && !o.Demo || usual < slog.LevelInfo {
		return func() {}
	}
	o.Level.Set(max(usual, slog.LevelWarn))
	if o.Demo {
		if terminal {
			o.Level.Set(slog.LevelError)
		}
		return func() {}
	}
	return func() { o.Level.Set(usual) }
}

// garbagePercent returns the value of GOGC for an observer: the memory for
// garbage, in percent of the memory in use. A fleet is mostly quiet, so memory
// matters more than processor time. With many transcripts the sessions are most
// of the memory: half of that on top would be much, and collecting it sooner
// costs little.
func garbagePercent(transcripts int) int {
	const many = 20_000
	if transcripts >= many {
		return 25
	}
	return 50
}
