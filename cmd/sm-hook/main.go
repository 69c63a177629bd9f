// Command sm-hook is what a client calls on every turn in place of sm: `sm-hook
// hook` and `sm-hook statusline` do what `sm hook` and `sm statusline` do, and
// start in a fraction of the time.
//
// Invariants: it is in the directory of sm; its texts for agents name sm; every other
// command is handed to the sm beside it.
//
// It does nothing of its own: package hooks does it, for sm too.
package main

import (
	"os"

	"sm/cmd/internal/hooks"
)

func main() { os.Exit(hooks.Main(os.Args)) }
