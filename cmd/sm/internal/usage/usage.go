// Package usage formats errors of the command line from the tree of commands:
// an error names the missing or unknown part in the words of the help.
package usage

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/dashboards/screen/plain"
)

// Explain makes the commands of a tree check the number of their arguments by
// the usage line, unless a command has its own check. A first argument ID is
// completed with agents, and an argument with files only if it is a path or a
// command.
func Explain(cmd *cobra.Command, agents cobra.CompletionFunc) {
	switch {
	case regexp.MustCompile("FILE|PATH|DIR|-- ").MatchString(cmd.Use):
	case strings.Contains(cmd.Use, "ID"):
		cmd.ValidArgsFunction = agents
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	if strings.Contains(cmd.Use, "[--") && !strings.Contains(cmd.Use, "[-- ") {
		cmd.DisableFlagsInUseLine = true // the usage line has the flags already
	}
	if !cmd.Runnable() { // it only has subcommands
		cmd.RunE = Unknown
	}
	if cmd.Args == nil {
		needed, most := argsOf(cmd.Use)
		cmd.Args = func(c *cobra.Command, args []string) error {
			switch {
			case len(args) < len(needed):
				missing := needed[len(args):]
				verb := "is"
				if len(missing) > 1 {
					verb = "are"
				}
				return fmt.Errorf(
					"%s %s missing: %s",
					strings.Join(missing, " and "),
					verb,
					usageOf(c),
				)
			case len(args) > most:
				if c.HasSubCommands() {
					return Unknown(c, args)
				}
				return fmt.Errorf(
					"%s is one argument too many: %s",
					plain.Quote(args[len(args)-1]),
					usageOf(c),
				)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		Explain(sub, agents)
	}
}

// Unknown returns the error for a command whose first argument is not a
// subcommand.
func Unknown(cmd *cobra.Command, args []string) error {
	text := "unknown command " + plain.Quote(args[0])
	if near := nearCommand(cmd, args[0]); near != "" {
		return fmt.Errorf("%s (did you mean %q?)", text, near)
	}
	if cmd.HasParent() {
		text += ": " + usageOf(cmd)
	}
	return errors.New(text)
}

func usageOf(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.UseLine(), " [flags]")
}

// argsOf returns the required arguments of a usage line, and the maximum number
// of arguments.
func argsOf(use string) (needed []string, most int) {
	if strings.Contains(use, "...") {
		return nil, math.MaxInt
	}
	words := strings.Fields(regexp.MustCompile(`\[--[^]]*\]|\(.*\)`).ReplaceAllString(use, ""))[1:]
	for _, word := range words {
		if !strings.HasPrefix(word, "[") {
			needed = append(needed, strings.TrimSuffix(word, "|-"))
		}
	}
	return needed, len(words)
}

// nearCommand returns the most similar command, or "".
func nearCommand(root *cobra.Command, name string) string {
	var known []string
	for _, c := range root.Commands() {
		if slices.Contains(c.SuggestFor, name) {
			return c.Name()
		}
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	return config.Nearest(name, known)
}

// FlagError adds the nearest flag to the error of an unknown flag, and the
// expected value to that of an invalid number.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := config.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			return fmt.Errorf("%w (did you mean --%s?)", err, near)
		}
	} else if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok &&
		bad.GetFlag().Value.Type() == "int" {
		return fmt.Errorf(
			"--%s %s: give a whole number",
			bad.GetFlag().Name,
			plain.Quote(bad.GetValue()),
		)
	}
	return err
}

// Plain rewrites cobra's error about two flags that exclude each other.
func Plain(err error) error {
	group := regexp.MustCompile(`\[(\S+) (\S+)\] were all set$`)
	if both := group.FindStringSubmatch(err.Error()); both != nil {
		return fmt.Errorf("--%s and --%s exclude each other: give one of them", both[1], both[2])
	}
	return err
}
