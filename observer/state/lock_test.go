package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	_, err := Open(dir, quiet(), testNow())
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Dir != dir {
		t.Fatalf("got %v, want a LockedError with pid %d", err, os.Getpid())
	}
	want := fmt.Sprintf(
		"state directory %s is in use by the observer with pid %d; stop it, or choose another with --state",
		dir,
		os.Getpid(),
	)
	if got := err.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := s.CheckLock(); err != nil {
		t.Errorf("the failed start has harmed the lock: %v", err)
	}
	s.Close()
	mustOpen(t, dir)
}

// A kill leaves a pid that says nothing any more.
func TestDeadHolder(t *testing.T) {
	for name, content := range map[string]string{
		"dead": "4194305\n", "empty": "", "garbage": strings.Repeat(
			"x",
			100,
		), "ours": fmt.Sprintln(os.Getpid()), "negative": "-1\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, lockName), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, dir)
			_, err := Open(dir, quiet(), testNow())
			if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != os.Getpid() {
				t.Errorf("got %v, want a LockedError with our pid", err)
			}
			s.Close()
		})
	}
}

// Whoever holds the lock without signing it is not named, and not waited for long.
func TestNamelessHolder(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, quiet(), testNow())
	want := fmt.Sprintf(
		"state directory %s is in use by another observer; stop it, or choose another with --state",
		dir,
	)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestCheckLock(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(dir string) error
		want string
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"lock removed", func(d string) error { return os.Remove(filepath.Join(d, lockName)) }, "lock was removed"},
		{"lock replaced", func(d string) error {
			return errors.Join(
				os.Remove(filepath.Join(d, lockName)),
				os.WriteFile(filepath.Join(d, lockName), nil, 0o600),
			)
		}, "lock was replaced"},
		{
			"file removed",
			func(d string) error { return os.Remove(filepath.Join(d, FileName)) },
			FileName + " was removed",
		},
		{"directory moved", func(d string) error { return os.Rename(d, d+".old") }, "lock was removed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sm")
			s := mustOpen(t, dir)
			if err := c.harm(dir); err != nil {
				t.Fatal(err)
			}
			err := s.CheckLock()
			if c.want == "" && err != nil {
				t.Errorf("got %v, want nil", err)
			}
			if c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.HasSuffix(err.Error(), "; restart the observer")) {
				t.Errorf("got %v, want …%s; restart the observer", err, c.want)
			}
		})
	}
}

// lockChild takes and gives up locks on request.
func lockChild([]string) error {
	var root *os.Root
	var lock *os.File
	for next := orders(); ; {
		order, ok := next()
		if !ok {
			return nil
		}
		if order == "drop" {
			if err := errors.Join(releaseLock(lock), root.Close()); err != nil {
				return err
			}
			say("dropped")
			continue
		}
		var err error
		if root, err = openDir(order); err != nil {
			return err
		}
		lock, err = takeLock(root, order)
		locked, lost := errors.AsType[*LockedError](err)
		switch {
		case lost:
			root.Close()
			say("lost %d", locked.PID)
		case err != nil:
			return err
		default:
			say("won")
		}
	}
}

// racer is a process that races for locks.
type racer struct {
	pid int
	in  io.Writer
	out *bufio.Scanner
}

func (r *racer) ask(t *testing.T, order string) {
	t.Helper()
	if _, err := fmt.Fprintln(r.in, order); err != nil {
		t.Fatal(err)
	}
}

func (r *racer) answer(t *testing.T) string {
	t.Helper()
	if !r.out.Scan() {
		t.Fatal("a racer has ended")
	}
	return r.out.Text()
}

func startRacers(t *testing.T, n int) []*racer {
	t.Helper()
	racers := make([]*racer, n)
	for i := range racers {
		cmd := childCommand(t, nil, "lock")
		in, inErr := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		racers[i] = &racer{cmd.Process.Pid, in, bufio.NewScanner(out)}
		t.Cleanup(func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	return racers
}

func TestStartRaces(t *testing.T) {
	racers := startRacers(t, 6)
	base := t.TempDir()
	for round := range 1000 {
		// Every third directory is new; the others carry the marks of earlier rounds.
		dir := filepath.Join(base, fmt.Sprint(round%3*round))
		for i := range racers {
			racers[(i+round)%len(racers)].ask(t, dir)
		}
		var winner *racer
		losers := map[string]int{}
		for _, r := range racers {
			if answer := r.answer(t); answer != "won" {
				losers[answer]++
			} else if winner != nil {
				t.Fatalf("round %d: pids %d and %d both have the lock", round, winner.pid, r.pid)
			} else {
				winner = r
			}
		}
		if winner == nil {
			t.Fatalf("round %d: nobody has the lock: %v", round, losers)
		}
		if n := losers[fmt.Sprint("lost ", winner.pid)]; n != len(racers)-1 {
			t.Fatalf("round %d: %v, want all to name %d", round, losers, winner.pid)
		}
		winner.ask(t, "drop")
		winner.answer(t)
	}
}
