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
)

// maxArgument limits an argument on Linux, without the zero byte: MAX_ARG_STRLEN in execve(2).
const maxArgument = 128<<10 - 1

// startable returns the program's path, or why it cannot be started.
func startable(argv []string) (path string, err error) {
	for _, arg := range argv {
		switch {
		case strings.ContainsRune(arg, 0):
			return "", &startError{
				codeNotRun,
				errors.New("an argument holds a zero byte; leave it out"),
			}
		case len(arg) > maxArgument:
			return "", &startError{
				codeNotRun,
				fmt.Errorf(
					"an argument has %d bytes; give at most %d",
					len(arg),
					maxArgument,
				),
			}
		}
	}
	path, err = exec.LookPath(argv[0])
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &startError{
			codeNotFound,
			errors.New("no such program; look at its name and at PATH"),
		}
	case errors.Is(err, exec.ErrDot):
		return "", &startError{
			codeNotFound,
			fmt.Errorf("it is in the current directory only; write ./%s", argv[0]),
		}
	}
	return "", notRun(err)
}

// notRun is the error for an existing program. It keeps the innermost cause.
func notRun(err error) error {
	reason := err
	for inner := errors.Unwrap(reason); inner != nil; inner = errors.Unwrap(reason) {
		reason = inner
	}
	return &startError{
		codeNotRun,
		fmt.Errorf("%w; give a program that this user may run", reason),
	}
}

// start starts a client.
func (s *supervisor) start(argv []string) error {
	path, err := startable(argv)
	if err != nil {
		return err
	}
	if s.guardian != nil {
		now, err := s.guardian.start(path, argv, s.o.Env, s.o.Files)
		if err != nil {
			return notRun(err)
		}
		return s.hold(now)
	}
	client, err := os.StartProcess(path, argv, &os.ProcAttr{
		Env:   s.o.Env,
		Files: s.o.Files[:],
		Sys:   attributes(),
	})
	if err != nil {
		return notRun(err)
	}
	// It was not collected yet, so this is its own start even if it has ended.
	s.client = client
	s.now = Process{client.Pid, startOf(client.Pid)}
	return nil
}

// hold opens a handle of a client that the guardian has started. If another process has the
// pid by now, the client has ended and the guardian will report that.
func (s *supervisor) hold(now Process) error {
	client, err := os.FindProcess(now.PID)
	if err != nil {
		return notRun(err)
	}
	s.client = client
	s.now = now
	s.lost = startOf(now.PID) != now.Start
	return nil
}

// signal sends a signal to the client.
func (s *supervisor) signal(sig syscall.Signal) error {
	if s.lost {
		return os.ErrProcessDone
	}
	return s.client.Signal(sig)
}

// family lists the children of the guardian, and those that became ours by its end.
func (s *supervisor) family() []child {
	if s.guardian == nil {
		return family(os.Getpid())
	}
	guardian := s.guardian.process.Pid
	return slices.DeleteFunc(
		family(os.Getpid(), guardian),
		func(c child) bool { return c.PID == guardian },
	)
}

// guardianReported handles a report of the guardian; ok is false when the guardian has ended
// unexpectedly.
func (s *supervisor) guardianReported(n guardianReport, ok bool) {
	switch {
	case !ok:
		s.reports = nil
		s.leaving = true
		if s.client != nil { // the kernel has killed it
			_ = s.client.Release() // never fails
			s.client, s.status = nil, syscall.WaitStatus(syscall.SIGKILL)
		}
	case s.client == nil || n.Ended != s.client.Pid:
	case !n.Status.Stopped():
		_ = s.client.Release() // never fails
		s.client = nil
		s.status = n.Status
	case s.stoppedAlone():
		s.terminal.suspend()
	}
}

// continues is how long a client that was stopped with the whole job may take to be
// continued with it: its stop is reported only after we have been continued ourselves.
const continues = 20 * time.Millisecond

// stoppedAlone reports whether the client has stopped without the rest of the job.
func (s *supervisor) stoppedAlone() bool {
	if !stopped(s.now) {
		return false
	}
	time.Sleep(continues)
	return stopped(s.now)
}

// collect collects every child that has ended or stopped.
func (s *supervisor) collect() {
	for more := s.reports != nil; more; {
		select {
		case n, ok := <-s.reports:
			s.guardianReported(n, ok)
			more = ok
		default:
			more = false
		}
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case s.guardian != nil, s.client == nil || pid != s.client.Pid:
			// an adopted process, or the guardian
		case status.Stopped():
			s.terminal.suspend()
		default:
			_ = s.client.Release() // never fails
			s.client = nil
			s.status = status
		}
	}
}

// noteDetached remembers the processes that have left the client's descendants while the
// client runs.
func (s *supervisor) noteDetached() {
	family := s.family()
	if !living(s.now) { // at its end its children become ours without having left
		return
	}
	clear(s.detached)
	var list []Process
	for _, p := range family {
		if !p.ours && p.PID != s.now.PID {
			s.detached[p.Process] = true
			list = append(list, p.Process)
		}
	}
	if s.guardian != nil {
		_ = s.guardian.send(guardianOrder{
			Detached: list,
		}) // the end of the guardian is reported
	}
}

// endOrphans ends what the client has left behind, and returns how many did not end.
func (s *supervisor) endOrphans() int {
	tick := time.Tick(orphanLook)
	for e := newEnding(time.Now()); ; {
		s.collect()
		left := slices.DeleteFunc(
			s.family(),
			func(c child) bool { return s.detached[c.Process] && !c.ours },
		)
		if e.look(time.Now(), left, 0) {
			return len(left)
		}
		select {
		case sig := <-s.signals:
			s.leaving = s.leaving || sig != syscall.SIGUSR1
		case <-tick:
		}
	}
}
