package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"sm/handoff/proc"
)

// maxArgument limits an argument on Linux, without its terminating zero byte:
// MAX_ARG_STRLEN in execve(2).
const maxArgument = 128<<10 - 1

// startable returns the path of the program, or an error and the exit code of a
// shell if the program cannot be started.
func startable(argv []string) (path string, code int, err error) {
	for _, arg := range argv {
		switch {
		case strings.ContainsRune(arg, 0):
			return "", codeNotRun, errors.New("an argument holds a zero byte; leave it out")
		case len(arg) > maxArgument:
			return "", codeNotRun, fmt.Errorf("an argument has %d bytes; give at most %d",
				len(arg), maxArgument)
		}
	}
	path, err = exec.LookPath(argv[0])
	switch {
	case err == nil:
		return path, 0, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", codeNotFound, errors.New("no such program; look at its name and at PATH")
	case errors.Is(err, exec.ErrDot):
		return "", codeNotFound, fmt.Errorf("it is in the current directory only; write ./%s", argv[0])
	}
	return "", codeNotRun, notRun(err)
}

// notRun returns the error for an existing program that cannot be run. It keeps
// the innermost cause.
func notRun(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Errorf("%w; give a program that this user may run", err)
}

// start starts a client, in the process group of the job. A guardian leaves
// that group as long as the client runs, so that no signal to the group ends
// both.
func (s *supervisor) start(argv []string) error {
	path, code, err := startable(argv)
	if err != nil {
		s.result.Code = code
		return err
	}
	sys := attributes()
	if s.o.Guardian {
		_ = syscall.Setpgid(0, 0) // cannot fail: it is not a session leader
		sys.Setpgid = true
		sys.Pgid = s.group
	}
	client, err := os.StartProcess(path, argv, &os.ProcAttr{
		Env:   s.o.Env,
		Files: s.o.Files[:],
		Sys:   sys,
	})
	if err != nil {
		s.result.Code = codeNotRun
		return notRun(err)
	}
	// The client has not been collected yet, so this is its own start time even
	// if it has ended.
	s.client = client
	s.now = Process{client.Pid, startOf(client.Pid)}
	return nil
}

// collect collects every child that has ended or stopped.
func (s *supervisor) collect() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case s.client == nil || pid != s.client.Pid: // an adopted process
		case status.Stopped():
			// The whole job stops, because the shell would otherwise wait for
			// us for ever. Without a shell the kernel ignores the signal.
			if s.terminal.front() {
				_ = syscall.Kill(-s.group, syscall.SIGTSTP) // it may have ended
			}
		default:
			_ = s.client.Release() // never fails
			s.client = nil
			s.status = status
		}
	}
}

// noteDetached records the children of parent that have left the client's
// descendants while the client runs.
func (s *supervisor) noteDetached(parent int) {
	family := family(parent)
	now, ok := readStat(s.now.PID)
	if !ok || identity(now) != s.now || now.Ended() || now.Exiting() {
		return // when the client ends, its children become the parent's although they have not left
	}
	clear(s.detached)
	for _, p := range family {
		if p.Group != s.group && p.PID != s.now.PID {
			s.detached[identity(p)] = true
		}
	}
}

// endOrphans ends the processes that the client has left behind, and returns
// the number of those that did not end.
func (s *supervisor) endOrphans() int {
	tick := time.Tick(orphanLook)
	e := &ending{began: time.Now(), asked: map[Process]bool{}}
	for {
		s.collect()
		left := slices.DeleteFunc(
			family(os.Getpid()),
			func(c proc.Process) bool { return s.detached[identity(c)] && c.Group != s.group },
		)
		if e.look(time.Now(), left) {
			return len(left)
		}
		select {
		case sig := <-s.signals:
			s.leaving = s.leaving || sig != syscall.SIGUSR1
		case <-tick:
		}
	}
}
