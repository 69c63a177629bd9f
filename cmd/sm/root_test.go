package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

type outcome struct {
	Code   int
	Out    string
	ErrOut string
}

func execute(t *testing.T, vars map[string]string, args ...string) outcome {
	t.Helper()
	env := testEnv(vars)
	code := env.execute(t.Context(), append([]string{}, args...))
	return outcome{
		code,
		env.Stdout.(*bytes.Buffer).String(),
		env.Stderr.(*bytes.Buffer).String(),
	}
}

// TestExamplesAndPages tests that each public command has an example and a manual page.
func TestExamplesAndPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := execute(t, nil, "man", dir); got != (outcome{}) {
		t.Fatalf("got %+v", got)
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(
			dir,
			strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1",
		))
		switch {
		case cmd.Hidden || cmd.Name() == "help" || strings.Contains(cmd.Short, "called by the client"):
		case cmd.Example == "":
			t.Errorf("%s has no example", cmd.CommandPath())
		case err != nil || !strings.Contains(string(page), "\n.SH EXAMPLE\n.EX\n  ") ||
			!strings.Contains(string(page), "\\fB--config\\fP\n"):
			t.Errorf("%s: %v\n%s", cmd.CommandPath(), err, page)
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRootCommand(testEnv(nil)))
}

// TestExitCodes tests that only cobra's own errors count as wrong usage; those of a command
// are failures unless they say otherwise.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"done", t.Context(), nil, "<nil>"},
		{"failed", t.Context(), errors.New("refused"), "1 refused"},
		{"wrong usage", t.Context(), usagef("no %s", "ID"), "-1 no ID"},
		{
			"absent, wrapped",
			t.Context(),
			fmt.Errorf("ask: %w", absentf("no observer")),
			"2 ask: no observer",
		},
		{"silent", t.Context(), &exitError{code: 1}, "1 exit code 1"},
		{
			"cancelled",
			cancelled,
			fmt.Errorf("read: %w", context.Canceled),
			"1 interrupted; run it again for a whole answer",
		},
		{"cancelled elsewhere", t.Context(), context.Canceled, "1 context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := coded(tt.ctx, tt.err, nil)
			got := fmt.Sprint(err)
			if exit, ok := errors.AsType[*exitError](err); ok {
				got = fmt.Sprint(exit.code, " ", err)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
