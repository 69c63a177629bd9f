package state

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childRole makes the test binary one of the processes that a test needs.
const childRole = "SM_STATE_CHILD"

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	args := os.Args[1:]
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	// Faults are counted per thread, so there should be one.
	runtime.LockOSThread()
	child, ok := map[string]func([]string) error{
		"save": saveChild, "retry": retryChild, "full": fullChild, "limit": limitChild,
	}[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such child:", role)
		os.Exit(2)
	}
	if err := child(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childCommand returns a command that runs this binary in a role, under another program if
// before names one.
func childCommand(t *testing.T, before []string, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	noErrors(t, err)
	argv := append(append(before, self), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = t.Output()
	return cmd
}

// output runs a child to its end and returns its lines.
func output(t *testing.T, cmd *exec.Cmd) ([]string, error) {
	t.Helper()
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}

// say prints a child's line for its parent.
func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
