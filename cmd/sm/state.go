package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/observer/persist"
	"sm/observer/state"
)

func newStateCommand(env *environ) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Export or import the observer's state",
		Long: "Export the observer's state as JSON lines, or import them as the state of a new observer: for a backup, or to move to\n" +
			"another machine with the same paths. The observer must not run meanwhile. Handoff documents are not included: copy\n" +
			"handoff.directory, by default handoff in the state directory, as well.",
		Example: "  sm state export state.jsonl\n  sm state import state.jsonl --state ~/.local/state/sm",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().String("state", "", "the state directory is `DIR`")
	config.BindFlag(cmd.PersistentFlags(), "state", "state")
	cmd.AddCommand(stateStep(
		env,
		"export",
		"Write the state to FILE, or to - for standard output",
		exportState,
	),
		stateStep(
			env,
			"import",
			"Make the state from FILE, or from - for standard input",
			importState,
		))
	return cmd
}

func stateStep(
	env *environ,
	name, short string,
	do func(env *environ, log *slog.Logger, dir, file string) (int, error),
) *cobra.Command {
	return &cobra.Command{
		Use:     name + " FILE",
		Short:   short,
		Example: "  sm state " + name + " state.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := env.config(cmd)
			if err != nil {
				return err
			}
			dir, err := cfg.StateDir(env.LookupEnv)
			if err != nil {
				return err
			}
			log, _ := env.logger(cfg)
			records, err := do(env, log, dir, args[0])
			if err == nil {
				fmt.Fprintf(env.Stderr, "%d records\n", records)
			}
			return err
		},
	}
}

func exportState(env *environ, log *slog.Logger, dir, file string) (records int, err error) {
	var out io.Writer
	if file == "-" {
		out = env.Stdout
	}
	return state.ExportFile(dir, file, out, log, time.Now())
}

func importState(env *environ, log *slog.Logger, dir, file string) (records int, err error) {
	if file == "-" {
		return state.Import(dir, env.Stdin, persist.Check, log, time.Now())
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("%w: name the file that sm state export wrote", err)
	}
	defer f.Close()
	return state.Import(dir, f, persist.Check, log, time.Now())
}
