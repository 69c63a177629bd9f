package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// lookEvery is the interval of checks for processes that have left the client's
// descendants. A process that leaves after the last check counts as left behind
// when the client ends by itself.
const lookEvery = 10 * time.Second

// parentKilled is the signal that the kernel sends to the guardian when the
// process that started it is killed.
const parentKilled = syscall.SIGUSR2

// supervisor is the one goroutine that owns the client, and every other child.
type supervisor struct {
	o        Options
	signals  chan os.Signal
	ends     chan os.Signal // SIGCHLD; one pending signal is enough
	terminal *terminal
	poll     *poller

	group    int         // the process group of the job, which is the client's
	client   *os.Process // nil while none runs
	now      Process
	status   syscall.WaitStatus // of the client that ended last
	detached map[Process]bool   // had left the client's descendants before its end
	kill     <-chan time.Time   // fires when a client that was asked to end is to be killed

	next    *successor // the client after the one that is being ended
	handled map[string]Outcome
	leaving bool // no further client is started
	left    int  // restarts that are left
	result  Result
}

// successor is the next client.
type successor struct {
	rotation string
	argv     []string
	old      Process
}

func newSupervisor(o Options) *supervisor {
	// The kernel kills the client when the thread that has started it ends.
	runtime.LockOSThread()
	s := &supervisor{
		o:        o,
		signals:  make(chan os.Signal, 64),
		ends:     make(chan os.Signal, 1),
		terminal: newTerminal(o.Files),
		poll:     newPoller(o.Observer),
		group:    syscall.Getpgrp(),
		detached: map[Process]bool{},
		left:     o.Restarts,
		handled:  map[string]Outcome{},
	}
	signal.Notify(s.ends, syscall.SIGCHLD)
	signal.Notify(s.signals, syscall.SIGUSR1)
	for _, sig := range []os.Signal{
		syscall.SIGINT,
		syscall.SIGTERM,
		syscall.SIGHUP,
		syscall.SIGQUIT,
	} {
		// The client, too, ignores signals that nohup or a similar program has
		// ignored.
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
	adopt(true)
	if o.Guardian {
		// Lists of processes would show it as "exe".
		_ = os.WriteFile("/proc/self/comm", []byte("sm guardian"), 0)
		signal.Notify(s.signals, parentKilled)
	}
	return s
}

func (s *supervisor) close() {
	s.poll.close()
	adopt(false)
	signal.Stop(s.signals)
	signal.Stop(s.ends)
	runtime.UnlockOSThread()
}

// supervise starts the client and its successors.
func (s *supervisor) supervise() error {
	if err := s.start(s.o.Argv); err != nil {
		return err
	}
	s.report(s.now, Outcome{})
	for {
		s.attend()
		s.kill = nil
		if s.next == nil || s.leaving {
			s.poll.stop()
		} else {
			s.report(Process{}, Outcome{})
		}
		s.result.Left = s.endOrphans()
		_ = syscall.Setpgid(0, s.group) // the terminal can be restored only in the foreground
		s.terminal.restore(s.status.Signaled())
		s.result.Code = exitCode(s.status)
		if s.next == nil || s.leaving {
			return nil
		}
		if err := s.follow(); err != nil {
			return err
		}
	}
}

// attend handles signals and instructions until the client has ended.
func (s *supervisor) attend() {
	look := time.Tick(lookEvery)
	for s.client != nil {
		select {
		case <-s.ends:
			s.collect()
		case sig := <-s.signals:
			s.signalled(sig.(syscall.Signal))
		case a := <-s.poll.answers:
			s.poll.answered(a)
			if a.Rotation != "" {
				s.carryOut(a.Instruction, a.status.Client)
			}
		case <-s.poll.again:
			s.poll.ask()
		case <-s.kill:
			_ = s.client.Signal(syscall.SIGKILL) // fails if it has ended
		case <-look:
			s.noteDetached(os.Getpid())
		}
	}
}

func (s *supervisor) signalled(sig syscall.Signal) {
	switch sig {
	case syscall.SIGUSR1:
		if s.next != nil {
			return // it is on its way
		}
		if result, reason := s.replace("", s.o.Prompt(s.now)); reason != "" {
			s.refuse("", result, reason)
			s.o.Refused(s.now, reason)
		}
	case syscall.SIGINT:
		// The terminal has sent SIGINT to the client as well, unless there is
		// none.
		if !s.terminal.controlled {
			s.pass(sig)
		}
		s.leaving = s.leaving || s.next != nil
	case parentKilled:
		sig = syscall.SIGKILL
		fallthrough
	default:
		s.leaving = true
		s.pass(sig)
	}
}

// pass passes a signal on, and continues a stopped client.
func (s *supervisor) pass(sig syscall.Signal) {
	_ = s.client.Signal(sig) // it may have ended
	_ = s.client.Signal(syscall.SIGCONT)
}

// carryOut carries out an instruction of the observer, once. client is the
// client for which the instruction was requested, zero for the next one.
func (s *supervisor) carryOut(order Instruction, client Process) {
	id := order.Rotation
	if s.next != nil && s.next.rotation == id {
		return // it is on its way
	}
	if outcome, known := s.handled[id]; known {
		s.report(s.now, outcome)
		return
	}
	result := Failed
	reason := ""
	switch {
	case order.Action != "restart":
		result = Refused
		reason = fmt.Sprintf("%.40q is no action that this version knows", order.Action)
	case client != s.now && client != Process{}:
		reason = "the client that was meant has ended"
	default:
		result, reason = s.replace(id, order.Prompt)
	}
	if reason != "" {
		s.refuse(id, result, reason)
	}
}

// refuse reports a refused restart: to the observer at once, to the user after
// the end.
func (s *supervisor) refuse(rotation, result, reason string) {
	if !slices.Contains(s.result.Refused, reason) {
		s.result.Refused = append(s.result.Refused, reason)
	}
	s.settle(Outcome{rotation, result, reason})
}

// settle records and reports the outcome of a rotation.
func (s *supervisor) settle(o Outcome) {
	if o.Rotation != "" {
		s.handled[o.Rotation] = o
	}
	s.report(s.now, o)
}

func (s *supervisor) report(client Process, o Outcome) {
	_, err := s.o.Again(s.o.Argv, "") // whether the arguments allow a restart
	status := Status{
		Client:       client,
		RestartsLeft: s.left,
		CanRestart:   err == nil && s.left > 0,
		Outcome:      o,
	}
	if s.next != nil {
		status.Restarting = s.next.rotation
	}
	s.poll.report(status)
}

// replace begins to end the client so that another one follows. It checks all
// obstacles first: if it returns a reason, the client is unchanged.
func (s *supervisor) replace(rotation, prompt string) (result, reason string) {
	s.collect()
	switch {
	case s.client == nil:
		return Failed, "the client has ended by itself"
	case s.next != nil:
		return Refused, "another restart is under way"
	case s.leaving:
		return Failed, "the client is being ended for good"
	case s.left <= 0:
		return Exhausted, fmt.Sprintf("no restart of %d is left", s.o.Restarts)
	}
	argv, err := s.o.Again(s.o.Argv, prompt)
	if err == nil {
		_, _, err = startable(argv)
	}
	if err != nil {
		return Refused, err.Error()
	}
	s.noteDetached(os.Getpid())
	if err := s.client.Signal(syscall.SIGTERM); err != nil {
		return Failed, fmt.Sprintf("end the client: %v", err)
	}
	_ = s.client.Signal(syscall.SIGCONT) // a stopped client would not end
	s.kill = time.After(s.o.TermAfter)
	s.next = &successor{rotation, argv, s.now}
	s.left--
	return "", ""
}

// follow starts the next client.
func (s *supervisor) follow() error {
	next := s.next
	s.next = nil
	if err := s.start(next.argv); err != nil {
		s.settle(Outcome{next.rotation, Failed, err.Error()})
		return err
	}
	s.result.Restarts++
	s.o.Resumed(next.old, s.now)
	s.settle(Outcome{Rotation: next.rotation, Result: Restarted})
	return nil
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return status.ExitStatus()
}
