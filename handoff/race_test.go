package handoff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/handoff/files"
)

// races is how many times two agents meet, each way.
func races() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

// racer is one of the two agents of all races.
type racer struct {
	agent string
	docs  *Documents
}

// race lets the agent hand over and start again in one channel, and start anew in another,
// where a third has left a document. It gives what it heard in the one and in the other.
func (r racer) race(n int) (own, left string, err error) {
	channel := fmt.Sprint("race-", n)
	if _, err := r.docs.Put(NewDocument{
		Channel:   channel,
		Agent:     r.agent,
		SessionID: r.agent,
		Body:      "of " + r.agent,
	}, noon); err != nil {
		return "", "", err
	}
	hear := func(channel string) (string, error) {
		d, ok, err := r.docs.Claim(Claimant{Channel{
			Name: channel,
		}, r.agent, "s-" + r.agent, os.Getpid()}, noon, everybody)
		if err != nil || !ok {
			return "-", err
		}
		return d.Body, r.docs.Consume(channel, d.ID, "s-"+r.agent, os.Getpid(), noon)
	}
	if own, err = hear(channel); err != nil {
		return "", "", err
	}
	left, err = hear(fmt.Sprint("left-", n))
	return own, left, err
}

// leave puts the documents of the third agent.
func leave(t *testing.T, dir string, n int) {
	t.Helper()
	d := NewDocuments(dir, 0, nil)
	_, err := d.Put(NewDocument{
		Channel:   fmt.Sprint("left-", n),
		Agent:     "third",
		SessionID: "third",
		Body:      "left",
	}, noon)
	noError(t, err)
}

// raceFolder is a fresh folder now and then: each has a thousand files at most.
func raceFolder(base string, n int) string { return filepath.Join(base, fmt.Sprint("docs-", n/50)) }

// judge wants each to have heard its own, and one of them what was left.
func judgeRace(t *testing.T, n int, own, left [2]string) {
	t.Helper()
	if own != [2]string{"of a", "of b"} {
		t.Fatalf("race %d: they heard %q", n, own)
	}
	if left != [2]string{"left", "-"} && left != [2]string{"-", "left"} {
		t.Fatalf("race %d: of what was left they heard %q", n, left)
	}
}

// TestRacesInProcess lets two agents race as goroutines, with locks of their own.
func TestRacesInProcess(t *testing.T) {
	t.Parallel()
	base := memory(t)
	won := map[string]int{}
	for n := range races() {
		dir := raceFolder(base, n)
		leave(t, dir, n)
		var own, left [2]string
		errs := make(chan error)
		for i, agent := range []string{"a", "b"} {
			go func() {
				var err error
				own[i], left[i], err = racer{agent, NewDocuments(dir, 0, nil)}.race(n)
				errs <- err
			}()
		}
		noError(t, errors.Join(<-errs, <-errs))
		judgeRace(t, n, own, left)
		won[left[0]]++
	}
	t.Logf("of %d races the first won %d", races(), won["left"])
}

// TestRacesOfProcesses is the same with two processes.
func TestRacesOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	base := memory(t)
	type child struct {
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var children []child
	for _, agent := range []string{"a", "b"} {
		cmd := childCommand(t, "race", base, agent)
		in, err := cmd.StdinPipe()
		noError(t, err)
		out, err := cmd.StdoutPipe()
		noError(t, err)
		noError(t, cmd.Start())
		t.Cleanup(func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		children = append(children, child{in, bufio.NewScanner(out)})
	}
	won := map[string]int{}
	for n := range races() {
		leave(t, raceFolder(base, n), n)
		for _, c := range children {
			fmt.Fprintln(c.in, n)
		}
		var own, left [2]string
		for i, c := range children {
			if !c.out.Scan() {
				t.Fatalf("race %d: a racer has gone", n)
			}
			own[i], left[i], _ = strings.Cut(c.out.Text(), "|")
		}
		judgeRace(t, n, own, left)
		won[left[0]]++
	}
	t.Logf("of %d races the first won %d", races(), won["left"])
}

func raceChild(args []string) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n := 0
		if _, err := fmt.Sscan(in.Text(), &n); err != nil {
			return err
		}
		own, left, err := racer{args[1], NewDocuments(raceFolder(args[0], n), 0, nil)}.race(n)
		if err != nil {
			return err
		}
		fmt.Printf("%s|%s\n", own, left)
	}
	return in.Err()
}

// holdChild takes the lock and keeps it.
func holdChild(args []string) error {
	s, err := openStore(args[0], true, nil)
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Println("held")
	<-time.After(time.Hour) // a process without a timer would end as deadlocked
	return nil
}

// TestStaleLock is a race: the holder of the lock is killed.
func TestStaleLock(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	cmd := childCommand(t, "hold", s.dir)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // one try
	if f, err := os.OpenRoot(s.dir); err != nil {
		t.Fatal(err)
	} else if lock, err := files.Lock(over, f, lockFile); lock != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("the lock is free: %v", err)
	}
	given := make(chan string)
	go func() {
		d, _, err := s.Claim(Claimant{webChannel(), "worker", "s", 1}, noon, everybody)
		given <- fmt.Sprint(d.Body, err)
	}()
	select {
	case got := <-given:
		t.Fatalf("given while another holds the lock: %s", got)
	case <-time.After(50 * time.Millisecond):
	}
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if got := <-given; got != "plan<nil>" {
		t.Errorf("got %s", got)
	}
}

// TestLockTakenAway: with its file removed the lock of the others is another one.
func TestLockTakenAway(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	err := s.with(false, func(held *store) error {
		noError(t, os.Remove(s.path(lockFile)))
		lock, err := files.Lock(t.Context(), held.root, lockFile)
		if lock == nil {
			t.Errorf("a new lock: %v", err)
			return nil
		}
		return lock.Close()
	})
	noError(t, err)
	s.gets("worker", "plan", noon)
}
