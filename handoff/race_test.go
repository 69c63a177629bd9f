package handoff

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// races returns the number of races.
func races() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

// raceFolder returns a fresh folder from time to time: each has at most a thousand files.
func raceFolder(
	base string,
	n int,
) string {
	return filepath.Join(
		base,
		fmt.Sprint("docs-", n/50),
	)
}

// TestRaces lets two agents race as processes.
func TestRaces(t *testing.T) {
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
		_, err := unlogged(raceFolder(base, n)).Put(Document{
			Channel:   fmt.Sprint("left-", n),
			Agent:     "third",
			SessionID: "third",
			Body:      "left",
		}, noon)
		noError(t, err)
		for _, c := range children {
			fmt.Fprintln(c.in, n)
		}
		var own, left [2]string
		for i, c := range children {
			if !c.out.Scan() {
				t.Fatalf("race %d: a process has ended", n)
			}
			own[i], left[i], _ = strings.Cut(c.out.Text(), "|")
		}
		if own != [2]string{"of a", "of b"} {
			t.Fatalf("race %d: got documents %q", n, own)
		}
		if left != [2]string{"left", "-"} && left != [2]string{"-", "left"} {
			t.Fatalf("race %d: got left document %q", n, left)
		}
		won[left[0]]++
	}
	t.Logf("the first won %[2]d of %[1]d races", races(), won["left"])
}

// raceChild is an agent that, for each number read, hands over and starts again in one
// channel, and starts in another, where a third agent has left a document. It prints the
// document that it got in each.
func raceChild(args []string) error {
	agent := args[1]
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n := 0
		if _, err := fmt.Sscan(in.Text(), &n); err != nil {
			return err
		}
		d := unlogged(raceFolder(args[0], n))
		own := fmt.Sprint("race-", n)
		if _, err := d.Put(Document{
			Channel:   own,
			Agent:     agent,
			SessionID: agent,
			Body:      "of " + agent,
		}, noon); err != nil {
			return err
		}
		given := []string{"-", "-"}
		for i, channel := range []string{own, fmt.Sprint("left-", n)} {
			got, ok, err := d.Claim(Claimant{Channel{
				Name: channel,
			}, agent, "s-" + agent, os.Getpid()}, noon, allEnded)
			if err == nil && ok {
				given[i] = got.Body
				err = d.Consume(channel, got.ID, "s-"+agent, os.Getpid(), noon)
			}
			if err != nil {
				return err
			}
		}
		fmt.Println(strings.Join(given, "|"))
	}
	return in.Err()
}

// holdChild takes the lock and keeps it.
func holdChild(args []string) error {
	return unlogged(args[0]).with(func(*store) error {
		fmt.Println("held")
		<-time.After(time.Hour) // without a timer the runtime reports a deadlock
		return nil
	})
}

// TestStaleLock tests that the lock of a killed process is free.
func TestStaleLock(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	cmd := childCommand(t, "hold", s.dir)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder printed %q, %v", line, err)
	}
	given := make(chan string)
	go func() {
		d, _, err := s.Claim(Claimant{webChannel(), "worker", "s", 1}, noon, allEnded)
		given <- fmt.Sprint(d.Body, err)
	}()
	select {
	case got := <-given:
		t.Fatalf("got a document while another process holds the lock: %s", got)
	case <-time.After(50 * time.Millisecond):
	}
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if got := <-given; got != "plan<nil>" {
		t.Errorf("got %s", got)
	}
}
