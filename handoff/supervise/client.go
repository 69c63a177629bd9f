package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// maxArgument is what Linux takes as one argument, with the zero byte at its end: MAX_ARG_STRLEN in execve(2).
const maxArgument = 128<<10 - 1

// What the client has left behind has nobody to work for any more. Most of it ends when it sees that its input has
// ended; the rest is asked to, then killed. What cannot even be killed hangs in the kernel, and is left there.
const (
	orphanTerm = 200 * time.Millisecond
	orphanKill = 1200 * time.Millisecond
	orphanLeft = 5 * time.Second
)

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
	client, err := os.StartProcess(path, argv, &os.ProcAttr{Env: s.o.Env, Files: s.o.Files[:], Sys: attributes()})
	if err != nil {
		return notRun(err)
	}
	// Nobody has collected it yet, so this is its own start even if it has ended.
	s.client, s.now = client, Process{client.Pid, startOf(client.Pid)}
	return nil
}

// collect takes note of every child that has ended or stopped.
func (s *supervisor) collect() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case s.client == nil || pid != s.client.Pid:
			// One that we have adopted.
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
	clear(s.loose)
	for _, p := range family() {
		if !p.ours && p.PID != s.now.PID {
			s.loose[p.Process] = true
		}
	}
}

// endOrphans ends what the client has left behind, and returns how many did not.
func (s *supervisor) endOrphans() int {
	asked := map[Process]bool{}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		s.collect()
		left, late := 0, time.Since(began)
		for _, p := range family() {
			if s.loose[p.Process] && !p.ours {
				continue
			}
			left++
			switch {
			case late > orphanKill:
				p.signal(syscall.SIGKILL)
			case late > orphanTerm && !asked[p.Process]:
				p.signal(syscall.SIGTERM)
				p.signal(syscall.SIGCONT)
				asked[p.Process] = true
			}
		}
		if left == 0 || late > orphanLeft {
			return left
		}
		select {
		case sig := <-s.signals:
			s.leaving = s.leaving || sig != syscall.SIGUSR1
		case <-tick.C:
		}
	}
}
