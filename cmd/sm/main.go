// Command sm watches fleets of Claude Code agents: it follows their transcripts, knows how full each context is,
// exports that to Prometheus, and warns, hands over and reminds the agents.
//
// This package is the edge of the program: flags, configuration, signals, exit codes and one file for each
// command. It alone knows viper and cobra; every other package is given plain values.
//
// What holds here: the exit code is 0 when the work is done, 1 when it was refused or failed, and 2 for wrong
// usage, no agent or no observer. An error is one line on standard error that ends with what to do. The
// configuration comes from defaults, file, environment and flags, each stronger than the one before, and nothing starts
// with a setting that is unknown, mistyped or out of bounds. An observer reads it again; the others read it once.
//
// It does not decide anything about agents, and writes no file but the client's settings with a skill and a plugin for
// it, when it is asked to install itself there, with a record of what was there before; and the state of a session that
// 'sm session' is told of.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks; from then on signals have their usual effect, so that a second Ctrl-C always ends
	// a shutdown that hangs.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
