package handoff

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// childRole makes the test binary one of the processes that a test needs.
const childRole = "SM_HANDOFF_CHILD"

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	args := os.Args[1:]
	if role == "" {
		os.Exit(m.Run())
	}
	child, ok := map[string]func([]string) error{
		"hold": holdChild,
		"put":  putChild,
		"race": raceChild,
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

// childCommand runs this binary in a role.
func childCommand(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = t.Output()
	return cmd
}

// memory returns a folder in memory if possible: tests that make thousands of documents are
// not about the disk.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sm-handoff-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noon is when the documents of the tests are made.
var noon = time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)

func allEnded(string) bool { return true }

func noneEnded(string) bool { return false }
