package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Guard starts this program again as the guardian, which calls [Run], with argv
// as its command line. It passes signals on, and returns the guardian's exit
// code. If the guardian is killed, Guard ends the processes that its client has
// left behind. ok is false if no guardian could be started.
func Guard(argv []string) (code int, ok bool) {
	s := newSupervisor(Options{Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}})
	defer s.close()
	guardian, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{
		Files: s.o.Files[:],
		Sys:   &syscall.SysProcAttr{Pdeathsig: parentKilled},
	})
	if err != nil {
		return 0, false
	}
	s.client = guardian
	s.now = Process{guardian.Pid, startOf(guardian.Pid)}
	for look := time.Tick(lookEvery); s.client != nil; {
		select {
		case <-s.ends:
			s.collect()
		case sig := <-s.signals:
			_ = guardian.Signal(sig) // it may have ended
		case <-look:
			s.noteDetached(guardian.Pid)
		}
	}
	if s.status.Signaled() {
		s.endOrphans()
		s.terminal.restore(true)
	}
	return exitCode(s.status), true
}

// attributes makes the kernel kill the client when we are killed. A hanging
// client would survive a weaker signal than SIGKILL, and compete with the shell
// for the terminal.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
	}
}

// adopt sets whether we become the parent of descendants that lose theirs, see
// PR_SET_CHILD_SUBREAPER in prctl(2).
func adopt(on bool) {
	value := uintptr(0)
	if on {
		value = 1
	}
	// Every kernel on which Go runs supports this option.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)
}
