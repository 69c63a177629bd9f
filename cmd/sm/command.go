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

// flags maps the names of a command's flags to pointers to their values. The
// initial value is the default of the flag.
type flags map[string]any

type runFunc func(cmd *cobra.Command, args []string) error

// command makes a command from the text of its help, which has the form
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
// with any number of lines for the last three. A flag is completed by the words
// after "<VALUE>: ", and by files if VALUE is FILE, PATH or DIR. A flag that is
// not in f sets the configuration key of the same name, in the subcommands too.
// If run is nil, the command only has subcommands.
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

// shortestPrefix is the minimum length of a prefix of a session's UUID, in
// characters.
const shortestPrefix = 8

// coded adds an exit code to the error of a command: exitUsage if the observer,
// a session or a document is missing, else exitFailed. An error with a code
// keeps it. All other errors of a command line are usage errors: those of
// cobra, which have no code, and those of usagef.
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

// absent returns an error of status 404 with the observer's text and exitUsage.
// coded would report a missing session instead.
func absent(err error) error {
	if api.StatusCode(err) == http.StatusNotFound {
		return absentf("%w", err)
	}
	return err
}
