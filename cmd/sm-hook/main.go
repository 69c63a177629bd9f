// Command sm-hook runs the commands that a client calls on every turn: `sm-hook
// hook` and `sm-hook statusline` do the same as `sm hook` and `sm statusline`,
// and start in a fraction of the time.
//
// Invariants: it is in the directory of sm; its texts for agents name sm; it
// runs the sm in its directory for every other command.
//
// All code is in package hooks, which sm uses too.
package main

import (
	"os"

	"sm/cmd/internal/hooks"
)

func main() { os.Exit(hooks.Main(os.Args)) }
