package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/usage"
	"sm/cmd/sm/internal/view"
	"sm/dashboards/screen"
	"sm/handoff/supervise"
)

// The exit codes. They are a promise to scripts.
const (
	exitDone   = 0
	exitFailed = 1 // refused or failed
	exitUsage  = 2 // wrong usage, no agent here, or no observer
)

// environ is what a command sees of the process. Commands take it instead of package os, so that a test can run
// any of them beside others.
type environ struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv config.Env
	vars      func() []string // all variables, as NAME=value
	dir       string          // the working directory, "" for that of the process
	// The path of this program, and the name by which it was called.
	executable func() (string, error)
	calledAs   string
	// registered is the session of a client by its own registry, "" for one that is not known; nil is the real one.
	registered func(pid int, start string) (session string)
}

// workDir is the folder at which relative paths begin.
func (env *environ) workDir() (string, error) {
	if env.dir != "" {
		return env.dir, nil
	}
	return os.Getwd()
}

// exitError is an error with its own exit code. Without err the command has already said what there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is an error for wrong usage; it ends with where to read the right one.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format+"; see 'sm --help'", args...)}
}

// absentf is an error for an agent or an observer that is not there. The text says what to do about it.
func absentf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run runs one command line and returns the exit code of the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := &environ{
		stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: os.LookupEnv, vars: os.Environ,
		executable: os.Executable, calledAs: os.Args[0],
	}
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	// What the client calls on every turn stands in a case of its own here: it has milliseconds, and must pay
	// for neither cobra nor viper.
	switch {
	case command == "hook" && !asksForHelp(args[1:]):
		return env.runHook(ctx, args[1:])
	case command == "statusline" && !asksForHelp(args[1:]):
		return env.runStatusline(ctx, args[1:])
	case command == guardianCommand && len(args) == 1 && supervise.Guard():
		return exitDone
	}
	return env.execute(ctx, args)
}

// execute runs a command by way of cobra and prints its error.
func (env *environ) execute(ctx context.Context, args []string) int {
	root := newRootCommand(env)
	// cobra takes a nil list for "use os.Args".
	root.SetArgs(append([]string{}, args...))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		// Every command's own error is an exitError by now; what is left is cobra's, about the command line.
		err = usagef("%w", err)
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		fmt.Fprintln(env.stderr, "sm: "+screen.OneLine(err.Error()))
	}
	return exit.code
}

// commands lists what sm can do, in the order of the help.
func commands(env *environ) []*cobra.Command {
	return []*cobra.Command{
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
	}
}

func newRootCommand(env *environ) *cobra.Command {
	root := &cobra.Command{
		Use:   "sm",
		Short: "Watch fleets of Claude Code agents",
		Long: "sm follows the transcripts of Claude Code agents, knows how full each context is, exports it to\n" +
			"Prometheus, and warns, hands over and reminds the agents.",
		Example:               "  sm observe          # watch; in another terminal:\n  sm top              # all agents, as they change\n  sm open             # the same in the browser\n  sm install          # let agents hear of their context",
		Version:               versionOf(),
		SilenceUsage:          true,
		SilenceErrors:         true,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			// A client that knows no arguments of hooks runs the bare sm. What that printed, on standard error too, would
			// be in the transcript, and any exit code but 0 would refuse the prompt or be shown as an error.
			if !term.IsTerminal(env.stdout) {
				if !term.IsTerminal(env.stderr) {
					return nil
				}
				cmd.SetOut(env.stderr)
			}
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("{{.Version}}\n")
	// A mistyped command is the cause of the flags that nobody knows after it.
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name := cmd.Flags().Arg(0); cmd == root && name != "" {
			return unknownCommand(root, name)
		}
		return &exitError{exitUsage, usage.FlagError(cmd, err)}
	})
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)

	flags := root.PersistentFlags()
	flags.String("config", "", "read the configuration from `FILE`")
	flags.String("socket", "", "reach the observer at `PATH` (or SM_SOCKET)")
	config.BindFlag(flags, "socket", "socket")

	root.AddCommand(commands(env)...)
	root.SetHelpCommand(newHelpCommand())
	usage.Explain(root)
	codeErrors(root)
	return root
}

// newHelpCommand replaces cobra's, which answers an unknown topic with several lines and success.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %s (did you mean %q?)", quote(name), near[0])
	}
	return usagef("unknown command %s", quote(name))
}

// codeErrors gives every error of a command the exit code of a failure, unless it has one. Errors without a code
// are then cobra's own, all of them about usage.
func codeErrors(cmd *cobra.Command) {
	if runE := cmd.RunE; runE != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			err := runE(c, args)
			if _, ok := errors.AsType[*exitError](err); err == nil || ok {
				return err
			}
			if c.Context().Err() != nil && errors.Is(err, context.Canceled) {
				err = errors.New("interrupted; run it again for a whole answer")
			}
			return &exitError{exitFailed, err}
		}
	}
	for _, sub := range cmd.Commands() {
		codeErrors(sub)
	}
}

// colours reports whether to colour what goes to a stream: on terminals, unless NO_COLOR says otherwise.
func (env *environ) colours(stream any) bool {
	no, _ := env.lookupEnv("NO_COLOR")
	return term.IsTerminal(stream) && no == ""
}

// A printer is where the answer of a command goes, and what can be shown there.
type printer struct{ view.Printer }

func (env *environ) printer() *printer {
	return &printer{view.Printer{Writer: env.stdout, Colour: env.colours(env.stdout), Glyphs: view.GlyphsOf(env.lookupEnv)}}
}
