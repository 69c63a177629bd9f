// Package usage words errors of the command line and writes the manual pages,
// both from the tree of commands.
//
// An error names what is missing or unknown in the words of the help. Each page
// has the same texts as --help.
package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/dashboards/screen/plain"
)

// Explain has each command of the tree say in words which of its arguments are missing, or are too many, and its usage line
// speak of flags once.
func Explain(cmd *cobra.Command) {
	if strings.Contains(
		strings.ReplaceAll(cmd.Use, "[-- ", ""),
		"[--",
	) { // it names its flags itself
		cmd.DisableFlagsInUseLine = true
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if check(c, args) == nil {
				return nil
			}
			return wrongArgs(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		Explain(sub)
	}
}

func wrongArgs(cmd *cobra.Command, args []string) error {
	needed := neededArgs(cmd.Use)
	if len(args) < len(needed) {
		missing := needed[len(args):]
		verb := "is"
		if len(missing) > 1 {
			verb = "are"
		}
		return fmt.Errorf(
			"%s %s missing: %s",
			strings.Join(missing, " and "),
			verb,
			usageOf(cmd),
		)
	}
	if near := NearCommand(cmd, args[0]); near != "" {
		return fmt.Errorf(
			"unknown command %s (did you mean %q?)",
			plain.Quote(cmd.CommandPath()+" "+args[0]),
			near,
		)
	}
	return fmt.Errorf(
		"%s is one argument too many: %s",
		plain.Quote(args[len(args)-1]),
		usageOf(cmd),
	)
}

func usageOf(cmd *cobra.Command) string {
	return strings.TrimSuffix(
		cmd.UseLine(),
		" [flags]",
	)
}

// neededArgs returns the arguments of a usage line that are not in brackets.
func neededArgs(use string) (names []string) {
	depth := 0
	for _, word := range strings.Fields(use)[1:] {
		depth += strings.Count(word, "[") + strings.Count(word, "(")
		if depth == 0 && !strings.HasPrefix(word, "-") {
			name, _, _ := strings.Cut(word, "|")
			names = append(names, name)
		}
		depth -= strings.Count(word, "]") + strings.Count(word, ")")
	}
	return names
}

// NearCommand returns the command that was meant, "" for none.
func NearCommand(root *cobra.Command, name string) string {
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

// FlagError says of an unknown flag which one is near, and of a number that is none what there should be.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := config.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			return fmt.Errorf("--%s: did you mean --%s?", unknown.GetSpecifiedName(), near)
		}
	} else if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok &&
		bad.GetFlag().Value.Type() == "int" {
		err = fmt.Errorf(
			"--%s %s: give a whole number",
			bad.GetFlag().Name,
			plain.Quote(bad.GetValue()),
		)
	}
	return fmt.Errorf("%w; see '%s --help'", err, cmd.Root().Name())
}
