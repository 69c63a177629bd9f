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

// maxArgument is what Linux takes as one argument, with the zero byte at its end: MAX_ARG_STRLEN in execve(2).
const maxArgument = 128<<10 - 1

// startable says where the program is, or why it cannot be started.
func startable(argv []string) (path string, err error) {
	for _, arg := range argv {
		switch {
		case strings.ContainsRune(arg, 0):
			return "", &startError{codeNotRun, errors.New("an argument holds a zero byte; leave it out")}
		case len(arg) > maxArgument:
			return "", &startError{codeNotRun, fmt.Errorf("an argument has %d bytes; give at most %d", len(arg), maxArgument)}
		}
	}
	path, err = exec.LookPath(argv[0])
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &startError{codeNotFound, errors.New("no such program; look at its name and at PATH")}
	case errors.Is(err, exec.ErrDot):
		return "", &startError{codeNotFound, fmt.Errorf("it is in the current directory only; write ./%s", argv[0])}
	}
	return "", notRun(err)
}

// notRun is a program that is there.
func notRun(err error) error {
	reason := err
	for inner := errors.Unwrap(reason); inner != nil; inner = errors.Unwrap(reason) {
		reason = inner
	}
	return &startError{codeNotRun, fmt.Errorf("%w; give a program that this user may run", reason)}
}

// start starts a client. The observer is not told yet.
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
	client, err := os.StartProcess(path, argv, &os.ProcAttr{Env: s.o.Env, Files: s.o.Files[:], Sys: attributes()})
	if err != nil {
		return notRun(err)
	}
	// Nobody has collected it yet, so this is its own start even if it has ended.
	s.client, s.now = client, Process{client.Pid, startOf(client.Pid)}
	return nil
}

// hold takes a handle of a client that the guardian has started. Who has its pid by now may be another process: then the
// client has ended, and the guardian will say so.
func (s *supervisor) hold(now Process) error {
	client, err := os.FindProcess(now.PID)
	if err != nil {
		return notRun(err)
	}
	s.client, s.now, s.lost = client, now, startOf(now.PID) != now.Start
	return nil
}

// signal reaches the client and nobody else.
func (s *supervisor) signal(sig syscall.Signal) error {
	if s.lost {
		return os.ErrProcessDone
	}
	return s.client.Signal(sig)
}

// family lists those that are left to end: the children of the guardian, and those that have become ours by its end.
func (s *supervisor) family() []child {
	if s.guardian == nil {
		return family(os.Getpid())
	}
	return slices.DeleteFunc(family(os.Getpid(), s.guardian.process.Pid), func(c child) bool { return c.PID == s.guardian.process.Pid })
}

// tidings takes what the guardian tells; ok is false when it has ended, which nobody has asked for.
func (s *supervisor) tidings(n guardianReport, ok bool) {
	switch {
	case !ok:
		s.news, s.leaving = nil, true
		if s.client != nil { // the kernel has killed it
			_ = s.client.Release() // never fails
			s.client, s.status = nil, syscall.WaitStatus(syscall.SIGKILL)
		}
	case s.client == nil || n.Ended != s.client.Pid:
	case !n.Status.Stopped():
		_ = s.client.Release() // never fails
		s.client, s.status = nil, n.Status
	case s.stays():
		s.terminal.suspend()
	}
}

// continues is how long a client that stops with the whole job may take to be continued with it: we hear of the stop
// only after we have been stopped and continued ourselves.
const continues = 20 * time.Millisecond

// stays says that the client has stopped alone.
func (s *supervisor) stays() bool {
	if !stopped(s.now) {
		return false
	}
	time.Sleep(continues)
	return stopped(s.now)
}

// collect takes note of every child that has ended or stopped.
func (s *supervisor) collect() {
	for more := s.news != nil; more; {
		select {
		case n, ok := <-s.news:
			s.tidings(n, ok)
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
			// One that we have adopted, or the guardian.
		case status.Stopped():
			s.terminal.suspend()
		default:
			_ = s.client.Release() // never fails
			s.client, s.status = nil, status
		}
	}
}

// noteLoose remembers who has left the client's family while the client lived.
func (s *supervisor) noteLoose() {
	family := s.family()
	if !living(s.now) { // by its end its own children have become ours: they have not left it
		return
	}
	clear(s.loose)
	var list []Process
	for _, p := range family {
		if !p.ours && p.PID != s.now.PID {
			s.loose[p.Process] = true
			list = append(list, p.Process)
		}
	}
	if s.guardian != nil {
		_ = s.guardian.send(guardianOrder{Loose: list}) // one that has ended is heard of
	}
}

// endOrphans ends what the client has left behind, and returns how many did not.
func (s *supervisor) endOrphans() int {
	tick := time.Tick(orphanLook)
	for e := newEnding(time.Now()); ; {
		s.collect()
		left := slices.DeleteFunc(s.family(), func(c child) bool { return s.loose[c.Process] && !c.ours })
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
