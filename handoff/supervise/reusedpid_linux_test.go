package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// breederVariable makes this binary a parent of strangers.
const breederVariable = "SM_TEST_BREEDER"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(breederVariable) != "":
		breed(os.Stdin, os.Stdout)
		return
	case os.Getenv(headlessVariable) != "":
		endFirstThread()
		return
	}
	os.Exit(m.Run())
}

const lastPID = "/proc/sys/kernel/ns_last_pid"

// breed answers each number with a new process of that pid, if it can get one, and "?" with what has become of it.
func breed(in io.Reader, out io.Writer) {
	runtime.LockOSThread() // with the thread its children would end
	stranger := (*os.Process)(nil)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer := "no"
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			for range 200 { // others fork, too
				_ = os.WriteFile(lastPID, []byte(strconv.Itoa(pid-1)), 0)
				p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Sys: attributes()})
				if err == nil && p.Pid == pid {
					stranger = p
					answer = "yes"
					break
				}
				if err == nil {
					_ = p.Kill() // ours
					_, _ = p.Wait()
				}
			}
		} else if stranger != nil {
			_ = stranger.Kill()
			if state, err := stranger.Wait(); err == nil {
				answer = state.Sys().(syscall.WaitStatus).Signal().String()
			}
			stranger = nil
		}
		fmt.Fprintln(out, answer)
	}
}

// breeder asks such a process.
type breeder struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func newBreeder(t *testing.T) *breeder {
	t.Helper()
	if err := os.WriteFile(lastPID, []byte("1000"), 0); err != nil {
		t.Skip("needs to choose pids: ", err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{breederVariable + "=1", "GOMAXPROCS=1"}
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &breeder{t, in, bufio.NewScanner(out)}
}

func (b *breeder) ask(text string) string {
	b.t.Helper()
	if _, err := fmt.Fprintln(b.in, text); err != nil || !b.out.Scan() {
		b.t.Fatal("the breeder is silent: ", err, b.out.Err())
	}
	return b.out.Text()
}

// ended starts a client as a supervisor does, and collects it as it does.
func ended(t *testing.T) (*os.Process, child) {
	t.Helper()
	client, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	as := child{Process: Process{client.Pid, startOf(client.Pid)}, parent: os.Getpid()}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(client.Pid, &status, 0, nil); err == nil {
			return client, as
		} else if !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
}

// TestNoStrangerIsSignalled: 1,000 times another process gets the pid of one that was ours.
func TestNoStrangerIsSignalled(t *testing.T) {
	b := newBreeder(t)
	reused := 0
	hit := 0
	for tries := 0; reused < 1000 && tries < 2000; tries++ {
		client, as := ended(t)
		if b.ask(strconv.Itoa(client.Pid)) != "yes" {
			continue
		}
		reused++
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
			if err := client.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signal %v of a client that has ended: %v", sig, err)
			}
			as.signal(sig)
		}
		if end := b.ask("?"); end != syscall.SIGKILL.String() {
			hit++
		}
		_ = client.Release() // never fails
	}
	t.Logf("%d pids were used again, %d strangers signalled", reused, hit)
	if reused < 1000 || hit > 0 {
		t.Errorf("%d pids were used again, want 1000; %d strangers were signalled, want 0", reused, hit)
	}
	// By its number the stranger would have been hit.
	for range 20 {
		client, _ := ended(t)
		if b.ask(strconv.Itoa(client.Pid)) != "yes" {
			continue
		}
		_ = syscall.Kill(client.Pid, syscall.SIGTERM) // the breeder's, and meant
		if end := b.ask("?"); !strings.HasPrefix(end, syscall.SIGTERM.String()) {
			t.Errorf("this test sees nothing: %s", end)
		}
		return
	}
	t.Error("no pid was used again to try the test itself")
}

// TestNoOtherStartIsSignalled does without the right to choose pids: the start is wrong.
func TestNoOtherStartIsSignalled(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := startOf(cmd.Process.Pid)
	child{Process: Process{cmd.Process.Pid, start + "0"}, parent: os.Getpid()}.signal(syscall.SIGKILL)
	child{
		Process: Process{os.Getppid(), startOf(os.Getppid())},
		parent:  os.Getpid(),
	}.signal(syscall.SIGKILL) // no child of ours
	child{Process: Process{cmd.Process.Pid, start}, parent: os.Getpid()}.signal(syscall.SIGTERM)
	_ = cmd.Wait() // it was signalled
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM {
		t.Errorf("ended by %v", got)
	}
}

func TestReadStat(t *testing.T) {
	if s, ok := readStat(os.Getpid()); !ok || s.Parent != os.Getppid() || s.Group != syscall.Getpgrp() ||
		s.Start == "" {
		t.Errorf("got %+v, %v", s, ok)
	}
	if s, ok := readStat(1 << 30); ok {
		t.Errorf("got %+v", s)
	}
}
