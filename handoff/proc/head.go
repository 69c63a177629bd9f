package proc

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// Command returns a command with a process group of its own: the end of ctx
// kills all processes that it started, and Ctrl-C does not reach it.
func Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// A Head keeps the first bytes of a program's output and discards the rest without an error.
type Head struct {
	Kept []byte // not a bytes.Buffer: io.Copy would use its ReadFrom, which has no limit
	Left int    // number of bytes still to keep
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.Left)
	h.Left -= n
	h.Kept = append(h.Kept, p[:n]...)
	return len(p), nil
}
