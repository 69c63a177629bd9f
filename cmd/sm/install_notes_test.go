package main

import (
	"strings"
	"testing"
)

// TestInstallNotes: what an installation cannot mend is said after it, with
// what to do, and on standard error.
func TestInstallNotes(t *testing.T) {
	t.Parallel()
	const (
		noObserverNote = "sm: note: observer: no observer answers at ~/.local/state/sm/run/sm.sock, so agents are not warned; run sm observe, or sm service install to start it at each login\n"

		guardNote = "sm: note: guard: there are PreToolUse hooks, but guard.enabled is false: they run at each tool call and judge none; set guard.enabled to true, or run sm install --guard=false\n"
		buildNote = "sm: note: hooks: they call PROGRAM, in WHERE, which is temporary; install sm where it stays, for example with make install, and run sm install with that one\n"
		offNote   = "sm: note: hooks: disableAllHooks in ~/SETTINGS turns hooks and status line off; remove disableAllHooks there\n"
	)
	for _, c := range []struct {
		name    string
		program string
		with    func(r *installRig)
		args    []string
		want    string // but for noObserverNote
	}{
		{"nothing but the observer", "/bin/sm", nil, []string{"install"}, ""},
		{
			"the guard, which is off",
			"/bin/sm",
			nil,
			[]string{"install", "--guard"},
			guardNote,
		},
		{
			"the guard, which is on",
			"/bin/sm",
			func(r *installRig) {
				r.write(
					r.home+"/.config/sm/config.yaml",
					"guard: {enabled: true}\n",
					0o600,
				)
			},
			[]string{"install", "--guard"},
			"",
		},
		{
			"a checkout's bin", "/src/sm/bin/sm", func(r *installRig) {
				r.write(
					r.home+"/src/sm/go.mod",
					"// a comment\nmodule sm\n\ngo 1.26\n",
					0o600,
				)
			},
			[]string{"install"},
			strings.NewReplacer(
				"PROGRAM",
				"~/src/sm/bin/sm",
				"WHERE",
				"the checkout ~/src/sm",
			).Replace(buildNote),
		},
		{
			"a temporary folder",
			"/tmp/x/sm",
			nil,
			[]string{"install"},
			strings.NewReplacer(
				"PROGRAM",
				"~/tmp/x/sm",
				"WHERE",
				"the temporary folder ~/tmp",
			).Replace(buildNote),
		},
		{
			"hooks that are switched off",
			"/bin/sm",
			func(r *installRig) { r.write(r.path, `{"disableAllHooks": true}`, 0o600) },
			[]string{"install"},
			strings.Replace(offNote, "SETTINGS", ".claude/settings.json", 1),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newInstallRig(t)
			r.program = r.home + c.program
			r.calledAs = r.program
			r.write(r.program, "#!/bin/sh\n", 0o700)
			if c.with != nil {
				c.with(r)
			}
			if dry := r.run(append(
				c.args,
				"--dry-run",
			)...); dry.Code != 0 ||
				strings.Contains(dry.ErrOut, "note") {
				t.Errorf("dry run: %d %s", dry.Code, dry.ErrOut)
			}
			env := r.environ()
			code := env.execute(t.Context(), c.args)
			if got, want := r.clean(env.Stderr), c.want+noObserverNote; code != 0 ||
				got != want {
				t.Errorf("exit code %d\ngot  %swant %s", code, got, want)
			}
		})
	}
}

// TestDoctorSeesBuildFolders: hooks with a program in a temporary folder are
// found, and so are those with a missing program.
func TestDoctorSeesBuildFolders(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.write(c.home+"/go.mod", "module sm\n", 0o600)
	want := "they call ~/bin/sm, in the checkout ~, which is temporary"
	got := c.findings("hooks")
	if len(got) != 2 ||
		got[1] != (finding{
			"hooks",
			noted,
			want,
			"install sm where it stays, for example with make install, and run sm install with that one",
		}) {
		t.Errorf("%+v", got)
	}
}
