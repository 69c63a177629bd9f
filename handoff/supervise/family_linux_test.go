package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sm/handoff/proc"
)

// eventually waits for an effect of other processes.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("timeout waiting for: ", what)
		}
	}
}

// started starts a program in a separate process group, and kills it afterwards.
func started(t *testing.T, env []string, argv ...string) Process {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return Process{cmd.Process.Pid, startOf(cmd.Process.Pid)}
}

// TestChildrenOfEndingClientAreNotDetached tests that a child that becomes this process's
// when its client ends is not counted as detached from the client before.
func TestChildrenOfEndingClientAreNotDetached(t *testing.T) {
	adopt(true)
	defer adopt(false)
	client := started(t, nil, "/bin/sh", "-c", "sleep 1000 & wait")
	s := &supervisor{now: client, detached: map[Process]bool{}}
	var orphan proc.Process
	eventually(t, "the client has a child", func() bool {
		all := family(client.PID)
		if len(all) == 1 {
			orphan = all[0]
		}
		return len(all) == 1
	})
	t.Cleanup(func() {
		_ = syscall.Kill(orphan.PID, syscall.SIGKILL) // a child of this process, not waited for yet
		_, _ = syscall.Wait4(orphan.PID, nil, 0, nil)
	})
	if err := syscall.Kill(client.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(
		t,
		"the child is ours",
		func() bool { p, ok := readStat(orphan.PID); return ok && p.Parent == os.Getpid() },
	)
	s.noteDetached(os.Getpid())
	if len(s.detached) > 0 {
		t.Errorf(
			"detached: got %v; the client's child is %v",
			s.detached,
			identity(orphan),
		)
	}
	s.now = started(
		t,
		nil,
		"/bin/sleep",
		"1000",
	) // while the client runs, the same process is detached
	s.noteDetached(os.Getpid())
	if !s.detached[identity(orphan)] {
		t.Errorf("noted: got %v, want %v among them", s.detached, identity(orphan))
	}
}
