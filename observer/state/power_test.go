package state

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fileCall is a call that changed the state file, or the word that a step is stored.
type fileCall struct {
	name  string // pwrite64, ftruncate, fdatasync, fsync; write for a word
	data  []byte
	at    int64 // or the new length
	acked int
}

// recordCalls lets a child make steps in dir under strace, and returns what it did.
func recordCalls(t *testing.T, dir string, steps int) []fileCall {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	trace := []string{"strace", "-f", "-qq", "-y", "-xx", "-s", "1000000", "-e", "signal=none",
		"-e", "trace=pwrite64,ftruncate,fdatasync,fsync,write", "-o", log}
	if out, err := exec.Command(trace[0], append(trace[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no strace: %v %s", err, out)
	}
	for range 5 {
		if _, err := output(t, childCommand(t, trace, "retry", dir, strconv.Itoa(steps))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		// Two threads at once: the order of their calls is not known.
		if !bytes.Contains(text, []byte("unfinished")) {
			return parseCalls(t, string(text))
		}
	}
	t.Skip("the trace never came in one piece")
	return nil
}

func parseCalls(t *testing.T, text string) []fileCall {
	t.Helper()
	call := regexp.MustCompile(`^\d+ +(\w+)\((\d+)<([^>]*)>(?:, "([^"]*)")?(?:, (\d+))?(?:, (\d+))?\) = \d+$`)
	var calls []fileCall
	acked := 0
	for line := range strings.Lines(text) {
		m := call.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("strace says %.200q", line)
		}
		data, err := hex.DecodeString(strings.ReplaceAll(m[4], `\x`, ""))
		if err != nil {
			t.Fatal(err)
		}
		path, err := hex.DecodeString(strings.ReplaceAll(m[3], `\x`, ""))
		if err != nil {
			path = []byte(m[3])
		}
		c := fileCall{name: m[1], data: data, acked: acked}
		switch {
		case c.name == "write" && m[2] == "1":
			if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				acked = n
			}
			continue
		case !strings.HasSuffix(string(path), "/"+FileName):
			continue
		case c.name == "ftruncate":
			c.at, err = strconv.ParseInt(m[5], 10, 64)
		case c.name == "pwrite64":
			c.at, err = strconv.ParseInt(m[6], 10, 64)
		}
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}

// apply is what the call leaves of the file when it, or what it wrote first, reaches
// the disk.
func (c *fileCall) apply(image []byte, most int) []byte {
	resize := func(size int) []byte { return append(image, make([]byte, max(0, size-len(image)))...)[:size] }
	switch c.name {
	case "ftruncate":
		return resize(int(c.at))
	case "pwrite64":
		data := c.data[:min(most, len(c.data))]
		image = resize(max(len(image), int(c.at)+len(data)))
		copy(image[c.at:], data)
	}
	return image
}

// outage is a disk to which the calls of a trace come one by one.
type outage struct {
	dir     string
	durable []byte     // what was synced
	pending []fileCall // what was not
	images  int
}

// test starts from an image of the file as it may be when the power returns.
func (o *outage) test(t *testing.T, what string, call int, image []byte, acked int) {
	t.Helper()
	o.images++
	plant(t, o.dir, image)
	s, n, err := openSteps(o.dir)
	if err != nil {
		t.Fatalf("call %d, %s: %v", call, what, err)
	}
	defer s.Close()
	if names := setAsideFiles(t, o.dir); n < acked || n > acked+1 || len(names) > 0 {
		t.Fatalf("call %d, %s: %d steps are stored, %d were acknowledged; set aside %q", call, what, n, acked, names)
	}
	if err := checkSteps(s, n); err != nil {
		t.Fatalf("call %d, %s: %v", call, what, err)
	}
}

// kept is the file when all calls have reached the disk that came so far.
func (o *outage) kept() []byte {
	image := bytes.Clone(o.durable)
	for _, p := range o.pending {
		image = p.apply(image, len(p.data))
	}
	return image
}

// TestPowerLoss cuts the power after each call that changes the file. What was not
// synced then may have reached the disk or not, in any order, and may be torn.
func TestPowerLoss(t *testing.T) {
	const before = 3
	base := filepath.Join(t.TempDir(), "sm")
	s := mustOpen(t, base)
	for n := range before {
		d, v := stepDelta(n + 1)
		mustSave(t, s, d, v)
	}
	s.Close()
	image, err := os.ReadFile(filepath.Join(base, FileName))
	if err != nil {
		t.Fatal(err)
	}
	o := outage{dir: filepath.Join(t.TempDir(), "sm"), durable: image}
	calls := recordCalls(t, base, before+20-shortcut(15))
	for i, c := range calls {
		acked := max(before, c.acked)
		if c.name == "fdatasync" || c.name == "fsync" {
			o.durable = o.kept()
			o.pending = nil
			o.test(t, "synced", i, o.durable, acked)
			continue
		}
		o.pending = append(o.pending, c)
		o.test(t, "all lost", i, o.durable, acked)
		o.test(t, "all kept", i, o.kept(), acked)
		o.test(t, "only the last kept", i, c.apply(bytes.Clone(o.durable), len(c.data)), acked)
		o.test(t, "only half a block of the last kept", i, c.apply(bytes.Clone(o.durable), 512), acked)
	}
	t.Logf("%d calls, %d images", len(calls), o.images)
	if len(o.pending) > 0 || len(calls) < 20 {
		t.Errorf("%d calls, %d of them not synced", len(calls), len(o.pending))
	}
}
