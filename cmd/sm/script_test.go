package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script, each with a comment about what it tests.
// Besides the usual commands they have
//
//	code N COMMAND...         runs a command that must end with exit code N
//	until PATTERN COMMAND...  runs a command until its output matches; the command may be fetch
//	fetch PATH FILE           sends a request to the observer's socket
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("SM_SOCKET", filepath.Join(env.WorkDir, "s"))
			env.Setenv("TZ", "UTC")
			env.Setenv(raceVariable, raceOptions)
			// The folders of a process without privileges.
			return errors.Join(
				os.Chmod(filepath.Dir(env.WorkDir), 0o755),
				os.Chmod(env.WorkDir, 0o755),
			)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":  scriptCode,
			"until": scriptUntil,
			"fetch": scriptFetch,
		},
	})
}

func scriptCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("got %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptUntil(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	var out string
	var err error
	if !comes(20*time.Millisecond, time.After(2*time.Minute), func() bool {
		out, err = scriptOutput(ts, args[1:])
		return err == nil && pattern.MatchString(out)
	}) {
		ts.Fatalf("timeout waiting for %q: %q, %v", args[0], out, err)
	}
}

// scriptOutput returns the output of a command or the observer's answer.
func scriptOutput(ts *testscript.TestScript, args []string) (string, error) {
	if args[0] == "fetch" {
		scriptFetch(ts, false, args[1:])
		return ts.ReadFile(args[2]), nil
	}
	err := ts.Exec(args[0], args[1:]...)
	return ts.ReadFile("stdout"), err
}

func scriptFetch(ts *testscript.TestScript, _ bool, args []string) {
	client := socketClient(ts.Getenv("SM_SOCKET"))
	resp, err := client.Get("http://localhost" + args[0])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}

// unprivileged is sm without the rights of root, if it has them.
func unprivileged() {
	const nobody = 65534
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setegid(nobody), syscall.Seteuid(nobody)); err != nil {
			panic(err)
		}
	}
	main()
}
