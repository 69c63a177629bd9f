package main

import (
	"strings"
	"testing"
)

// TestInstallNotes tests that problems that an installation cannot fix are printed after it,
// with the remedy, on standard error.
func TestInstallNotes(t *testing.T) {
	t.Parallel()
	const (
		observerNote = "sm: note: observer: no observer answers at ~/.local/state/sm/run/sm.sock, so agents are not warned; run sm observe, or sm service install to start it at each login\n"
		placeNote    = ", which is temporary; install sm where it stays, for example with make install, and run sm install with that one\n"
	)
	for program, c := range map[string]struct {
		file, text string // to write before
		want       string // besides observerNote
	}{
		"/bin/sm": {},
		"/src/sm/bin/sm": {
			"/src/sm/go.mod",
			"// a comment\nmodule sm\n\ngo 1.26\n",
			"sm: note: hooks: they call ~/src/sm/bin/sm, in the checkout ~/src/sm" + placeNote,
		},
		"/tmp/x/sm": {
			want: "sm: note: hooks: they call ~/tmp/x/sm, in ~/tmp" + placeNote,
		},
		"/off/sm": {
			"/.claude/settings.json",
			`{"disableAllHooks": true}`,
			"sm: note: hooks: disableAllHooks in ~/.claude/settings.json turns hooks and status line off; remove disableAllHooks there\n",
		},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			r := newInstallRig(t)
			r.program = r.home + program
			r.calledAs = r.program
			r.write(r.program, "#!/bin/sh\n", 0o700)
			if c.file != "" {
				r.write(r.home+c.file, c.text, 0o600)
			}
			dry := r.run("install", "--dry-run")
			if dry.Code != 0 || strings.Contains(dry.ErrOut, "note") {
				t.Errorf("dry run: %d %s", dry.Code, dry.ErrOut)
			}
			env := r.environ()
			code := env.execute(t.Context(), []string{"install"})
			if got, want := r.clean(env.Stderr), c.want+observerNote; code != 0 || got != want {
				t.Errorf("exit code %d\ngot  %swant %s", code, got, want)
			}
		})
	}
}
