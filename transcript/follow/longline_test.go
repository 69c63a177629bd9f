package follow

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	longBytes = 50 << 20
	longMost  = 100 << 20
)

// longLine writes a file that holds one line of longBytes.
func longLine(t *testing.T, before, after string) string {
	path := filepath.Join(t.TempDir(), "line")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(before); err != nil {
		t.Fatal(err)
	}
	fill := strings.Repeat("0123456789abcde ", 1<<14)
	for n := len(before); n < longBytes; n += len(fill) {
		if _, err := file.WriteString(fill); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.WriteString(after + "\n"); err != nil {
		t.Fatal(err)
	}
	return path
}

// copyTo appends a file to another within the kernel: the writer is to need no
// memory of the process that is measured.
func copyTo(t *testing.T, from, to string) {
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o600) // no O_APPEND: the kernel would refuse
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := dst.Seek(0, io.SeekEnd); err == nil {
		_, err = dst.ReadFrom(src)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// status reads a figure of /proc/self/status, in bytes.
func status(t *testing.T, name string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Skipf("no %s", name)
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// TestLongLine guards the promise that a line of 50 MB costs no more than twice its
// size at any time, wherever it turns up, and delays no other session.
func TestLongLine(t *testing.T) {
	t.Parallel()
	reply := `{"type":"assistant","uuid":"long","timestamp":"2026-11-20T09:00:00Z","version":"2.1.197","message":{"id":"long","usage":{"input_tokens":4321,"output_tokens":1},"content":[{"type":"text","text":"`
	prompt := `{"type":"user","uuid":"long","timestamp":"2026-11-20T09:00:00Z","version":"2.1.197","message":{"content":"\n\"é`
	for _, kind := range []struct{ name, before, after string }{
		{"reply", reply, `"}]}}`},
		{"prompt", prompt, `"}}`},
		{"bad", reply, ``},
	} {
		for _, where := range []string{"history", "parked", "young", "live"} {
			t.Run(kind.name+"_"+where, func(t *testing.T) {
				if !alone(t) {
					return
				}
				line := longLine(t, kind.before, kind.after)
				m := newMeasured(t)
				if where == "parked" {
					m.o.ActiveFor = time.Nanosecond
				}
				long := m.path("-p", idA+".jsonl")
				m.append(long, replyLine(1))
				if where == "history" {
					copyTo(t, line, long)
					m.begin()
					m.start()
				} else {
					m.start()
					m.settle("before")
					if where == "live" {
						m.idle(youth + 100*time.Millisecond) // tails are no longer looked after at each write
					}
					m.begin()
					copyTo(t, line, long)
				}
				m.watch(long)
			})
		}
	}
}

func replyLine(n int) string { return reply(n, 100) }

// measured is a rig whose memory is watched, with another file that grows.
type measured struct {
	*rig
	other  string
	before int64
}

func newMeasured(t *testing.T) *measured {
	m := &measured{rig: newRig(t)}
	m.other = m.path("-p", idB+".jsonl")
	m.append(m.other, replyLine(1))
	return m
}

// begin forgets the peak so far.
func (m *measured) begin() {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		m.t.Skip(err)
	}
	m.before = status(m.t, "VmRSS")
}

// watch appends to the other file until the long line has been read, and then
// compares the peak.
func (m *measured) watch(long string) {
	want, err := os.Stat(long)
	if err != nil {
		m.t.Fatal(err)
	}
	var worst time.Duration
	n := 2
	for done := false; !done; n++ {
		since := time.Now()
		m.append(m.other, replyLine(n))
		m.until("append to the other file", func() bool { return m.files[m.other].Session.Messages == n })
		worst = max(worst, time.Since(since))
		done = m.files[long].Session.Bytes == want.Size()
	}
	peak := status(m.t, "VmHWM") - m.before
	m.stop()
	fmt.Printf("peak +%d MB over %d MB, others delayed by %v at most in %d appends\n", peak>>20, m.before>>20, worst.Round(time.Millisecond), n)
	if s := m.files[long].Session; s.Lines != 2 {
		m.t.Errorf("the long line was not read: %+v", s)
	}
	if peak > longMost {
		m.t.Errorf("%d MB more at the peak, want at most %d", peak>>20, longMost>>20)
	}
	if worst > 2*time.Second {
		m.t.Errorf("others were delayed by %v", worst)
	}
}
