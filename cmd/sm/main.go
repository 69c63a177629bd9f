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
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"sm/cmd/internal/caller"
	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/usage"
)

func main() {
	env := &environ{Process: hooks.Self(os.Executable, os.Args[0])}
	args := os.Args[1:]
	// The client runs these on every turn: they have milliseconds, must not pay for
	// cobra or viper, and listen to signals themselves, where they wait.
	if env.Run(context.Background(), args) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks; from then on signals have their usual effect,
	// so that a second Ctrl-C always ends a shutdown that hangs.
	context.AfterFunc(ctx, stop)
	if len(args) > 0 && args[0] == caller.GuardianCommand {
		env.guardian = true
		args = args[1:]
	}
	os.Exit(env.execute(ctx, args))
}

// execute runs a command by way of cobra, which takes nil for the arguments of the process,
// and prints its error.
func (env *environ) execute(ctx context.Context, args []string) int {
	root := newRootCommand(env)
	if cmd, _, err := root.Find(args); err == nil && strings.HasSuffix(cmd.Use, " CHANNEL") {
		args = channelsLast(args)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		// Every command's own error is an exitError by now; what is left is
		// cobra's, about the command line.
		exit = usagef("%w", err)
		err = exit
	}
	if exit.err != nil {
		env.say("%v", err)
	}
	return exit.code
}

func newRootCommand(env *environ) *cobra.Command {
	root := command(`sm
Monitor fleets of coding agents

sm reads the transcripts of Claude Code and Codex, exports to Prometheus how full each context is,
and warns, hands over and reminds the agents.

$ sm observe          # watch; in another terminal:
$ sm top              # all agents, as they change
$ sm open             # the same in the browser
$ sm install          # warn agents about their own context

--config read the configuration from <FILE>
--socket reach the observer at <PATH> (or SM_SOCKET)
`, nil, env.runBare,
		newObserveCommand(env),
		newScanCommand(env),
		newReportCommand(env),
		newStatusCommand(env),
		newTopCommand(env),
		newOpenCommand(env),
		newSendCommand(env),
		newMessagesCommand(env),
		newRemindCommand(env),
		newRemindersCommand(env),
		newRunCommand(env),
		newRegisterCommand(env),
		newHandoffCommand(env),
		newHandoffsCommand(env),
		newDocumentsCommand(env),
		newSessionCommand(env),
		newReplayCommand(env),
		newCheckConfigCommand(env),
		newInstallCommand(env),
		newUninstallCommand(env),
		newDoctorCommand(env),
		newServiceCommand(env),
		newStateCommand(env),
		newHookCommand(env),
		newStatuslineCommand(env),
		newVersionCommand(env),
		newManCommand(),
	)
	root.Args = cobra.ArbitraryArgs
	root.Version = versionOf()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SilenceUsage = true
	root.SilenceErrors = true
	root.DisableFlagsInUseLine = true
	// A mistyped command is the cause of unknown flags after it.
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name := cmd.Flags().Arg(0); cmd == root && name != "" {
			return unknownCommand(root, name)
		}
		return &exitError{exitUsage, usage.FlagError(cmd, err)}
	})
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetHelpCommand(newHelpCommand())
	usage.Explain(root, env.agentNames)
	return root
}

// runBare is sm without a command. A client that knows no arguments of hooks
// runs it too. What it printed then, on standard error too, would be in the
// transcript, and any exit code but 0 would refuse the prompt or be shown as an
// error.
func (env *environ) runBare(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
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
			return unknownCommand(cmd.Root(), strings.Join(args, " "))
		}
		topic.InitDefaultHelpFlag()
		return topic.Help()
	})
}

func unknownCommand(root *cobra.Command, name string) error {
	if near := usage.NearCommand(root, name); near != "" {
		return usagef("unknown command %s (did you mean %q?)", quote(name), near)
	}
	return usagef("unknown command %s", quote(name))
}
