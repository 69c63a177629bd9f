package main

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"sm/handoff"
	"sm/observer/api"
)

// flags are the places for the values of a command's flags, by name. The default of
// a flag is what is there.
type flags map[string]any

type runFunc func(cmd *cobra.Command, args []string) error

// command makes a command of its help, which is
//
//	USAGE
//	SHORT
//
//	LONG
//
//	$ EXAMPLE
//
//	--FLAG what it does with <VALUE>
//
// with any number of lines for the last three. A flag is completed by the words after "<VALUE>: ",
// and by files if VALUE is FILE, PATH or DIR. A flag without a place sets the key of
// the configuration that has its name, for the subcommands too. Without run the command only
// has subcommands.
func command(help string, f flags, run runFunc, subs ...*cobra.Command) *cobra.Command {
	use, help, _ := strings.Cut(help, "\n")
	short, help, _ := strings.Cut(help, "\n")
	cmd := &cobra.Command{Use: use, Short: short}
	for line := range strings.Lines(help) {
		word, rest, _ := strings.Cut(line, " ")
		switch name, isFlag := strings.CutPrefix(word, "--"); {
		case isFlag:
			text := strings.NewReplacer("<", "`", ">", "`", "\n", "").Replace(rest)
			switch p := f[name].(type) {
			case *bool:
				cmd.Flags().BoolVar(p, name, *p, text)
			case *int:
				cmd.Flags().IntVar(p, name, *p, text)
			case *string:
				cmd.Flags().StringVar(p, name, *p, text)
			case *[]string:
				cmd.Flags().StringArrayVar(p, name, *p, text)
			default:
				cmd.PersistentFlags().String(name, "", text)
			}
			_, words, _ := strings.Cut(rest, ">: ")
			words, _, _ = strings.Cut(words, ";")
			words = strings.NewReplacer(",", "", " or ", " ").Replace(words)
			files := cobra.ShellCompDirectiveNoFileComp
			if regexp.MustCompile("<(FILE|PATH|DIR)>").MatchString(rest) {
				files = cobra.ShellCompDirectiveDefault
			}
			_ = cmd.RegisterFlagCompletionFunc(
				name,
				cobra.FixedCompletions(strings.Fields(words), files),
			)
		case word == "$":
			cmd.Example += "  " + rest
		default:
			cmd.Long += line
		}
	}
	cmd.Long = strings.TrimSpace(cmd.Long)
	cmd.Example = strings.TrimSuffix(cmd.Example, "\n")
	cmd.AddCommand(subs...)
	if run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return coded(cmd.Context(), run(cmd, args), args)
		}
	}
	return cmd
}

// shortestPrefix is how much of a session's UUID has to be given at least.
const shortestPrefix = 8

// coded gives an error of a command the exit code of a failure, unless it has one, or
// is about an observer or an agent that is not there. Errors without a code are then
// about usage: cobra's own, and those of usagef.
func coded(ctx context.Context, err error, args []string) error {
	_, done := errors.AsType[*exitError](err)
	switch {
	case err == nil || done:
		return err
	case errors.Is(err, api.ErrNoObserver), errors.Is(err, handoff.ErrNoDocument):
		return absentf("%w", err)
	case api.StatusCode(err) == http.StatusNotFound:
		if len(args) > 0 && len(args[0]) < shortestPrefix &&
			strings.Trim(args[0], "0123456789abcdef") == "" {
			return absentf(
				"%s is too short: give at least %d characters, or the agent's name; 'sm status' lists them",
				quote(args[0]),
				shortestPrefix,
			)
		}
		return absentf("no such session; 'sm status' lists them")
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("interrupted; run it again for a whole answer")
	}
	return &exitError{exitFailed, err}
}

// absent keeps the observer's text about something unknown that is no agent.
func absent(err error) error {
	if api.StatusCode(err) == http.StatusNotFound {
		return absentf("%w", err)
	}
	return err
}
