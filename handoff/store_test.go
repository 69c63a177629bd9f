package handoff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/handoff/files"
)

// putChild puts documents of the agent worker, numbered, and prints each number.
func putChild(args []string) error {
	d := NewDocuments(args[0], 0, nil)
	for n := 1; ; n++ {
		_, err := d.Put(NewDocument{
			Channel:    web,
			Agent:      "worker",
			SessionID:  sessionOf("worker"),
			WorkingDir: "/home/dev/web",
			Executed:   true,
			Body:       fmt.Sprint(n),
		}, noon)
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestKillPut kills a process that puts documents. The document is then the last one that was
// reported or the next one, whole, and the manifest is never damaged.
func TestKillPut(t *testing.T) {
	t.Parallel()
	for kill := range 30 {
		s := newShelf(t)
		cmd := childCommand(t, "put", s.dir)
		out, err := cmd.StdoutPipe()
		noError(t, err)
		noError(t, cmd.Start())
		n := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, err := fmt.Sscan(lines.Text(), &n)
			noError(t, err)
			if n == 1 {
				time.AfterFunc(time.Duration(kill)*time.Millisecond/3, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // it was killed

		d, ok := s.claimFree("worker", noon, nobody)
		if !ok || d.Body != fmt.Sprint(n) && d.Body != fmt.Sprint(n+1) {
			t.Fatalf("after %d: %+v, %v", n, d, ok)
		}
		s.last("worker", d.Body, noon)
		s.put("worker", "after", noon)
		s.gets("worker", "after", noon)
		if s.log.Len() > 0 {
			t.Errorf("after %d: %s", n, s.log)
		}
	}
}

const races = 200

// raceChild lets an agent hand over and start again in one channel, and start anew in
// another, where a third has left a document. It prints what it got in both.
func raceChild(args []string) error {
	docs := NewDocuments(args[0], 0, nil)
	agent := args[1]
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n := in.Text()
		if _, err := docs.Put(NewDocument{Channel: "race-" + n, Agent: agent, SessionID: agent, Body: agent}, noon); err != nil {
			return err
		}
		var got [2]string
		for i, channel := range []string{"race-" + n, "left-" + n} {
			d, ok, err := docs.Claim(Claimant{Channel{Name: channel}, agent, "s-" + agent, 1}, noon, everybody)
			if err == nil && ok {
				err = docs.Consume(channel, d.ID, "s-"+agent, 1, noon)
			}
			if err != nil {
				return err
			}
			got[i] = d.Body
		}
		fmt.Printf("%s|%s\n", got[0], got[1])
	}
	return in.Err()
}

// TestRaces: of two processes that start at the same time each gets its own document, and one
// of them what a third agent has left.
func TestRaces(t *testing.T) {
	t.Parallel()
	dir := memory(t)
	type child struct {
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var children []child
	for _, agent := range []string{"a", "b"} {
		cmd := childCommand(t, "race", dir, agent)
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
	third := NewDocuments(dir, 0, nil)
	for n := range races {
		_, err := third.Put(NewDocument{Channel: fmt.Sprint("left-", n), Agent: "third", Body: "left"}, noon)
		noError(t, err)
		for _, c := range children {
			fmt.Fprintln(c.in, n)
		}
		var got []string
		for _, c := range children {
			if !c.out.Scan() {
				t.Fatalf("race %d: a process has ended", n)
			}
			got = append(got, c.out.Text())
		}
		if all := strings.Join(got, " "); all != "a|left b|" && all != "a| b|left" {
			t.Fatalf("race %d: %s", n, all)
		}
	}
}

// holdChild takes the lock and keeps it.
func holdChild(args []string) error {
	root, err := os.OpenRoot(args[0])
	if err == nil {
		_, err = files.Lock(context.Background(), root, ".lock")
	}
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestStaleLock: a lock ends with its process.
func TestStaleLock(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("worker", "plan", noon)
	cmd := childCommand(t, "hold", s.dir)
	_, err := cmd.StdinPipe()
	noError(t, err)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // one try
	root, err := os.OpenRoot(s.dir)
	noError(t, err)
	if _, err := files.Lock(over, root, ".lock"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the lock is free: %v", err)
	}
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	s.gets("worker", "plan", noon)
}

// TestRejected: a document whose file was removed or changed is not given.
func TestRejected(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	d := s.put("worker", "plan", noon)
	text, err := os.ReadFile(d.File)
	noError(t, err)
	rejected := func(cause error) {
		t.Helper()
		d, ok, err := s.Claim(Claimant{webChannel(), "worker", "x", 1}, noon, everybody)
		if ok || d.Body != "" || err == nil || cause != nil && !errors.Is(err, cause) {
			t.Errorf("got %+v, %v, %v", d, ok, err)
		}
	}
	for _, changed := range []string{
		"just text",
		strings.Replace(string(text), d.ID, "HO-20260202-120000-stranger", 1),
		strings.Replace(string(text), "CHANNEL: "+web, "CHANNEL: other", 1),
	} {
		write(t, d.File, changed)
		rejected(nil)
	}
	noError(t, os.Remove(d.File))
	rejected(fs.ErrNotExist)
	noError(t, os.Mkdir(d.File, 0o700))
	rejected(files.ErrDamaged)
	noError(t, os.Remove(d.File))
	write(t, d.File, string(text))
	s.gets("worker", "plan", noon)
}

func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"empty":       "",
		"cut":         `{"channel":"-home`,
		"list":        "[]",
		"null":        "null",
		"wrong types": `{"channel":"-home-dev-web","documents":[[1]]}`,
		"no time":     `{"channel":"-home-dev-web","documents":[{"id":"x","created_at":"yesterday"}]}`,
		"no id":       `{"channel":"-home-dev-web","documents":[{}]}`,
		"null inside": `{"channel":"-home-dev-web","documents":[null]}`,
		"escapes":     `{"channel":"-home-dev-web","documents":[{"id":"../x"}]}`,
		"huge":        strings.Repeat(" ", maxManifest+1),
		"not UTF-8":   "\xff\xfe",
	} {
		s := newShelf(t)
		s.put("worker", "plan", noon)
		for _, aside := range []string{"", "-2"} {
			write(t, s.path(web+".manifest.json"), damage)
			s.gets("worker", "", noon)
			kept := s.read(web + ".manifest.json.damaged-20260202-120000" + aside)
			if kept != damage || !strings.Contains(s.log.String(), "damaged") {
				t.Errorf("%s: %d bytes were kept; log %s", name, len(kept), s.log)
			}
			s.put("worker", "again", noon)
			s.gets("worker", "again", noon)
		}
	}
}

// TestIrregularManifest: what is no file is moved away too, and nothing waits for it.
func TestIrregularManifest(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("worker", "plan", noon)
	name := s.path(web + ".manifest.json")
	noError(t, os.Remove(name))
	noError(t, os.Symlink("/dev/zero", name))
	s.gets("worker", "", noon)
	s.put("worker", "again", noon)
	s.gets("worker", "again", noon)
}

// TestNotStored: what cannot be stored changes nothing.
func TestNotStored(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	d := s.putNew(NewDocument{Agent: "worker", Executed: true, Body: "old"}, noon)
	before := s.read(web + ".manifest.json")
	noError(t, os.Remove(d.File))
	noError(t, os.MkdirAll(filepath.Join(d.File, "in the way"), 0o700))
	if _, _, err := s.Claim(Claimant{webChannel(), "worker", "s", 1}, noon, nobody); err == nil {
		t.Error("claimed without a body")
	}
	if after := s.read(web + ".manifest.json"); after != before {
		t.Errorf("manifest %s", after)
	}
}
