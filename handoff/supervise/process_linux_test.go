package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"sm/handoff/proc"
)

// TestNoOtherStartIsSignalled tests that a signal reaches only a child with the recorded
// start.
func TestNoOtherStartIsSignalled(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := startOf(cmd.Process.Pid)
	c := proc.Process{PID: cmd.Process.Pid, Start: start + "0", Parent: os.Getpid()}
	send(c, syscall.SIGKILL)
	send(proc.Process{
		PID:    os.Getppid(),
		Start:  startOf(os.Getppid()),
		Parent: os.Getpid(),
	}, syscall.SIGKILL) // no child of this process
	c.Start = start
	send(c, syscall.SIGTERM)
	_ = cmd.Wait() // it was signalled
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM {
		t.Errorf("ended by %v", got)
	}
}
