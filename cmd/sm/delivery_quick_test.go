package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/internal/hooks"
	"sm/observer"
)

const (
	quickName = "sm-quick"
	// quickProof is how long an observer waits for the proof of a delivery in these tests.
	quickProof = 300 * time.Millisecond
	// quickClear, quickPrompt and quickGrace are its timeouts for a handoff.
	quickClear, quickPrompt, quickGrace, quickFinish = 4 * time.Second, 3 * time.Second, time.Second, 300 * time.Millisecond
)

// quick is sm with an observer that waits only briefly for the proof of a delivery or a
// handoff.
func quick() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	env := &environ{Process: hooks.Self(os.Executable, os.Args[0])}
	root := newRootCommand(env)
	observe, _, err := root.Find([]string{"observe"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	observe.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := env.config(cmd)
		if err != nil {
			return err
		}
		o, err := env.observerOptions(cfg, false)
		if err != nil {
			return err
		}
		o.Queue.Proof = quickProof
		r := &o.Handoff.Rotations
		r.ClearWithin = quickClear
		r.PromptWithin = quickPrompt
		r.Grace = quickGrace
		r.FinishAfter = quickFinish
		return observer.Run(cmd.Context(), o, nil)
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sm:", err)
		os.Exit(exitFailed)
	}
}
