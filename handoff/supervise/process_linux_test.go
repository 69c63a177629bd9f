package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestNoOtherStartIsSignalled: a signal reaches only a child with the start that was seen.
func TestNoOtherStartIsSignalled(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := startOf(cmd.Process.Pid)
	child{
		Process: Process{cmd.Process.Pid, start + "0"},
		parent:  os.Getpid(),
	}.signal(syscall.SIGKILL)
	child{
		Process: Process{os.Getppid(), startOf(os.Getppid())},
		parent:  os.Getpid(),
	}.signal(syscall.SIGKILL) // no child of ours
	child{
		Process: Process{cmd.Process.Pid, start},
		parent:  os.Getpid(),
	}.signal(syscall.SIGTERM)
	_ = cmd.Wait() // it was signalled
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM {
		t.Errorf("ended by %v", got)
	}
}
