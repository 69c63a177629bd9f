package handoff

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// putChild stores a document and kills itself before the nth step, or prints the number of
// steps.
func putChild(args []string) error {
	last, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	d := unlogged(args[0])
	n := 0
	d.step = func(string) {
		if n++; n == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	_, err = d.Put(Document{
		Channel:    web,
		Agent:      "worker",
		SessionID:  sessionOf("worker"),
		WorkingDir: "/home/dev/web",
		Executed:   true,
		Body:       "new",
	}, noon)
	fmt.Println(n)
	return err
}

// TestKillPut kills a process before each step of a Put. Afterwards there is the old document
// or the new one, complete, and never a damaged manifest.
func TestKillPut(t *testing.T) {
	steps := 0
	counted := newShelf(t)
	counted.put("worker", "old", noon)
	out, err := childCommand(t, "put", counted.dir, "0").Output()
	noError(t, err)
	_, err = fmt.Sscan(string(out), &steps)
	noError(t, err)
	if steps < 6 {
		t.Fatalf("only %d steps", steps)
	}
	claimed := map[string]int{}
	for n := 1; n <= steps; n++ {
		s := newShelf(t)
		old := s.put("worker", "old", noon)
		cmd := childCommand(t, "put", s.dir, strconv.Itoa(n))
		cmd.Stderr = io.Discard
		if err := cmd.Run(); cmd.ProcessState.ExitCode() >= 0 {
			t.Fatalf("step %d: the child had already ended: %v", n, err)
		}
		d, ok := s.claimFree("worker", noon, noneEnded)
		if !ok || d.Body != "old" && d.Body != "new" ||
			(d.Body == "old") != (d.ID == old.ID) {
			t.Fatalf("step %d: claimed %+v, %v", n, d, ok)
		}
		claimed[d.Body]++
		last, ok, err := s.Last(web, "worker")
		if err != nil || ok != (d.Body == "new") || ok && last.Body != "new" {
			t.Errorf("step %d: the last is %+v, %v, %v", n, last, ok, err)
		}
		if current, ok, err := s.Current(web); !ok || err != nil || current.ID != d.ID ||
			current.Body != d.Body {
			t.Errorf("step %d: current is %+v, %v, %v", n, current, ok, err)
		}
		s.put("worker", "after", noon)
		s.gets("worker", "after", noon)
		s.onlyKnown(n)
		if s.log.Len() > 0 {
			t.Errorf("step %d: %s", n, s.log)
		}
	}
	if claimed["old"] == 0 || claimed["new"] == 0 {
		t.Errorf("claimed %v in %d steps", claimed, steps)
	}
	t.Logf("%d steps: %v", steps, claimed)
}

// onlyKnown checks that no other files are left.
func (s *shelf) onlyKnown(step int) {
	s.t.Helper()
	list, err := os.ReadDir(s.dir)
	noError(s.t, err)
	known := map[string]bool{
		lockFile:               true,
		web + ".manifest.json": true,
	}
	m, err := readManifest(s.path(web + ".manifest.json"))
	noError(s.t, err)
	for _, id := range m.ids() {
		known[documentFile(web, id)] = true
	}
	var others []string
	for _, e := range list {
		if !known[e.Name()] {
			others = append(others, e.Name())
		}
	}
	if diff := cmp.Diff([]string(nil), others); diff != "" {
		s.t.Errorf("step %d: left over (-want +got):\n%s", step, diff)
	}
}

// TestNotStored tests that a document that cannot be stored changes nothing.
func TestNotStored(t *testing.T) {
	s := newShelf(t)
	s.putNew(Document{Agent: "worker", Executed: true, Body: "old"}, noon)
	before := s.read(web + ".manifest.json")
	s.step = func(step string) {
		if step == "rename manifest" {
			noError(t, os.Remove(s.path(web+".manifest.json.new")))
		}
	}
	d, err := s.Put(Document{
		Channel:  web,
		Agent:    "worker",
		Executed: true,
		Body:     "new",
	}, noon)
	if err == nil || d.ID != "" {
		t.Errorf("stored %+v", d)
	}
	if _, _, err := s.Claim(
		Claimant{webChannel(), "worker", "s", 1},
		noon,
		noneEnded,
	); err == nil {
		t.Error("claimed without a stored record")
	}
	s.step = func(string) {}
	if diff := cmp.Diff(before, s.read(web+".manifest.json")); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	s.gets("worker", "old", noon)
	s.last("worker", "old")
	s.onlyKnown(0)
}
