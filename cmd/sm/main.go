// Command sm monitors fleets of coding agents: it reads their transcripts,
// exports to Prometheus how full each context is, and warns, hands over and
// reminds the agents.
//
// This package holds flags, configuration, signals, exit codes and one file for
// each command. Only this package uses viper and cobra.
//
// The exit code is 0 for success, 1 for a refusal or failure, and 2 for wrong
// usage, an unknown agent or a missing observer. An error is one line on
// standard error that ends with the remedy. The configuration comes from
// defaults, file, environment and flags, each overriding the one before; a
// command does not start with an unknown, mistyped or invalid setting. Only the
// observer reads the configuration again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/internal/caller"
	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/usage"
)

func main() {
	env := &environ{Process: hooks.Self(os.Executable, os.Args[0])}
	args := os.Args[1:]
	// The client runs the hook commands on every turn: they must take only
	// milliseconds, without cobra and viper, and handle signals themselves.
	if env.Run(context.Background(), args) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal starts a shutdown. Later ones have their default effect,
	// so that a second Ctrl-C always ends a shutdown that hangs.
	context.AfterFunc(ctx, stop)
	if len(args) > 0 && args[0] == caller.GuardianCommand {
		env.guardian = true
		args = args[1:]
	}
	os.Exit(env.execute(ctx, args))
}

// execute runs a command, prints its error and returns the exit code. args must
// not be nil: cobra would read the arguments of the process instead.
func (env *environ) execute(ctx context.Context, args []string) int {
	root := newRootCommand(env)
	if cmd, _, err := root.Find(args); err == nil && strings.HasSuffix(cmd.Use, " CHANNEL") {
		args = channelsLast(args)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		cmd, _, _ := root.Find(args[1:])
		_ = cmd.InheritedFlags() // adds them to cmd.Flags
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			f.Usage = strings.ReplaceAll(f.Usage, "`", "") // shells would show them
		})
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok || exit.code == unexplained { // errors without a code are cobra's
		exit = &exitError{
			exitUsage,
			fmt.Errorf("%w; see '%s --help'", usage.Plain(err), cmd.CommandPath()),
		}
		err = exit
	}
	if exit.err != nil {
		env.note("%v", err)
	}
	return exit.code
}

func newRootCommand(env *environ) *cobra.Command {
	root := command(`sm COMMAND [flags]
Monitor fleets of coding agents: Claude Code and Codex

sm reads the transcripts of Claude Code and Codex, exports to Prometheus how full each context is,
and warns, hands over and reminds the agents.

$ sm observe          # watch; in another terminal:
$ sm top              # all agents, as they change
$ sm open             # the same in the browser
$ sm install          # warn agents about their own context
$ sm doctor           # what is missing, and what to do about it

--config read the configuration from <FILE>
--socket reach the observer at <PATH> (or SM_SOCKET)
`, nil, env.runBare)
	group := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, cmd := range commands {
			cmd.GroupID = title
		}
		root.AddCommand(commands...)
	}
	group("Look",
		newObserveCommand(env),
		newTopCommand(env),
		newOpenCommand(env),
		newStatusCommand(env),
		newScanCommand(env),
		newReportCommand(env),
		newReplayCommand(env),
	)
	group("Tell",
		newSendCommand(env),
		newMessagesCommand(env),
		newRemindCommand(env),
		newRemindersCommand(env),
	)
	group("Hand over",
		newRunCommand(env),
		newHandoffCommand(env),
		newHandoffsCommand(env),
		newDocumentsCommand(env),
	)
	group("Set up",
		newInstallCommand(env),
		newUninstallCommand(env),
		newServiceCommand(env),
		newDoctorCommand(env),
		newBugreportCommand(env),
		newStateCommand(env),
	)
	group("Plumbing",
		newCheckConfigCommand(env),
		newRegisterCommand(env),
		newSessionCommand(env),
		newHookCommand(env),
		newStatuslineCommand(env),
		newVersionCommand(env),
		newCompletionCommand(env),
		newManCommand(),
	)
	root.Args = cobra.ArbitraryArgs
	root.Version = versionOf()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SilenceUsage = true
	root.SilenceErrors = true
	root.DisableFlagsInUseLine = true
	// A flag after a mistyped command is unknown because the command is.
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name := cmd.Flags().Arg(0); cmd == root && name != "" {
			return usage.Unknown(root, []string{name})
		}
		return usage.FlagError(cmd, err)
	})
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetHelpCommand(newHelpCommand())
	root.SetHelpCommandGroupID("Plumbing")
	root.InitDefaultHelpCmd() // before Explain, which covers it too
	root.SetUsageTemplate(strings.NewReplacer(
		"\n  {{.CommandPath}} [command]", "",
		"[command]", "COMMAND",
	).Replace(root.UsageTemplate()))
	usage.Explain(root, env.agentNames)
	return root
}

// runBare runs sm without a command: it prints the help on a terminal. A client
// that does not support arguments of hooks runs it as well. Then it must print
// nothing, even to standard error, as that would be in the transcript, and the
// exit code must be 0: any other one would refuse the prompt or be shown as an
// error.
func (env *environ) runBare(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%w", usage.Unknown(cmd, args))
	}
	if !term.IsTerminal(env.Stdout) {
		if !term.IsTerminal(env.Stderr) {
			return nil
		}
		cmd.SetOut(env.Stderr)
	}
	return cmd.Help()
}

// newHelpCommand replaces cobra's, which answers an unknown topic with several
// lines and success.
func newHelpCommand() *cobra.Command {
	return command(`help [COMMAND]...
Show the help of a command
`, nil, func(cmd *cobra.Command, args []string) error {
		topic, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			err = usage.Unknown(cmd.Root(), []string{strings.Join(args, " ")})
			return absentf("%w; see 'sm --help'", err)
		}
		topic.InitDefaultHelpFlag()
		return topic.Help()
	})
}
