package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoticesNameAProgramThatRuns tests that a notice has the path of sm if sm is not in the
// agent's PATH or is another program there, provided that every shell takes that path as one
// plain word.
func TestNoticesNameAProgramThatRuns(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	noErrors(t, err)
	bin := func(name string, make func(path string) error) string {
		path := filepath.Join(dir, name, "sm")
		noErrors(t, os.MkdirAll(filepath.Dir(path), 0o755))
		noErrors(t, make(path))
		return filepath.Dir(path)
	}
	link := func(path string) error { return os.Symlink(self, path) }
	ours := bin("ours", link)
	spaced := bin("with space", link)
	other := bin(
		"other",
		func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) },
	)
	plain := bin(
		"plain",
		func(path string) error { return os.WriteFile(path, []byte("not to be run"), 0o644) },
	)
	program := filepath.Join(ours, "sm")
	const notice = `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"[sm context] Context at 66%. Write your handoff document now and run sm handoff PATH. Call sm handoff again, run sm status. #a1b2c3"}}`
	byPath := strings.NewReplacer(
		"run sm handoff",
		"run "+program+" handoff",
		"Call sm handoff",
		"Call "+program+" handoff",
	).Replace(notice)
	for _, c := range []struct {
		name, path, program, answer, want string
	}{
		{"in the PATH", "/nowhere:" + ours, program, notice, notice},
		{"not in the PATH", "/nowhere", program, notice, byPath},
		{"another program of that name first", other + ":" + ours, program, notice, byPath},
		{"a file that is no program", plain, program, notice, byPath},
		{"no PATH", "", program, notice, byPath},
		{"relative entries", ".", program, notice, byPath},
		{
			"a path that a shell would split",
			"/nowhere",
			filepath.Join(spaced, "sm"),
			notice,
			notice,
		},
		{"nothing to run in it", "/nowhere", program, answerToAgent, answerToAgent},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newListener(t, respond(c.answer))
			env := testEnv(map[string]string{"SM_SOCKET": e.socket, "PATH": c.path})
			env.Executable = func() (string, error) { return c.program, nil }
			env.Stdin = strings.NewReader(`{"session_id":"s1","hook_event_name":"Stop"}`)
			unhurried(env).Hook(t.Context(), nil)
			if got := env.Stdout.(interface{ String() string }).String(); got != c.want+"\n" {
				t.Errorf("got  %swant %s", got, c.want)
			}
		})
	}
}
