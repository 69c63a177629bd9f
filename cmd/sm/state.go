package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sm/observer/persist"
	"sm/observer/state"
)

func newStateCommand(env *environ) *cobra.Command {
	return command(`state export|import
Export or import the observer's state

Export the observer's state as JSON lines, or import them as the state of a new observer: for a backup, or to move to
another machine with the same paths. The observer must not run meanwhile. Handoff documents are not included: copy
handoff.directory, by default handoff in the state directory, as well.

$ sm state export state.jsonl
$ sm state import state.jsonl --state ~/.local/state/sm

--state the state directory is <DIR>
`, nil, nil,
		stateStep(env, `export FILE
Write the state to FILE, or to - for standard output

$ sm state export state.jsonl
`, exportState),
		stateStep(env, `import FILE
Make the state from FILE, or from - for standard input

$ sm state import state.jsonl
`, importState),
	)
}

func stateStep(
	env *environ,
	help string,
	do func(env *environ, log *slog.Logger, dir, file string) (int, error),
) *cobra.Command {
	return command(help, nil, func(cmd *cobra.Command, args []string) error {
		cfg, err := env.config(cmd)
		if err != nil {
			return err
		}
		dir, err := env.StateDir(cfg.State)
		if err != nil {
			return err
		}
		log, _ := env.logger(cfg)
		records, err := do(env, log, dir, args[0])
		if err == nil {
			fmt.Fprintf(env.Stderr, "%d records\n", records)
		}
		return err
	})
}

func exportState(env *environ, log *slog.Logger, dir, file string) (records int, err error) {
	var out io.Writer
	if file == "-" {
		out = env.Stdout
	}
	return state.ExportFile(dir, file, out, log, time.Now())
}

func importState(env *environ, log *slog.Logger, dir, file string) (records int, err error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return 0, fmt.Errorf("%w: name the file that sm state export wrote", err)
		}
		defer f.Close()
		in = f
	}
	return state.Import(dir, in, persist.Check, log, time.Now())
}
