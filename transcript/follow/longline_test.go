package follow

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/claude"
)

// The limit is 100 MB for a line of 50. If the text of a line has to be decoded, as a
// prompt's with escapes, that is one more copy.
const (
	longBytes = 50 << 20
	longMost  = 100 << 20
)

// longLine writes a file with one line of longBytes.
func longLine(t *testing.T, before, after string) string {
	path := filepath.Join(t.TempDir(), "line")
	file, err := os.Create(path)
	noErrors(t, err)
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

// copyTo appends a file to another within the kernel: the writer must not need memory of the
// measured process.
func copyTo(t *testing.T, from, to string) {
	src, err := os.Open(from)
	noErrors(t, err)
	defer src.Close()
	dst, err := os.OpenFile(
		to,
		os.O_WRONLY|os.O_CREATE,
		0o600,
	) // no O_APPEND: the kernel would refuse
	noErrors(t, err)
	defer dst.Close()
	if _, err = dst.Seek(0, io.SeekEnd); err == nil {
		_, err = dst.ReadFrom(src)
	}
	noErrors(t, err)
}

// pieces appends a file to another as a slow writer does.
func pieces(t *testing.T, from, to string) {
	src, err := os.Open(from)
	if err != nil {
		t.Error(err)
		return
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer dst.Close()
	if _, err := io.CopyBuffer(
		struct{ io.Writer }{dst},
		struct{ io.Reader }{src},
		make([]byte, 16<<10),
	); err != nil {
		t.Error(err)
	}
}

func size(t *testing.T, path string) int64 {
	info, err := os.Stat(path)
	noErrors(t, err)
	return info.Size()
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
	noErrors(t, err)
	return kb << 10
}

// TestLongLine tests that a line of 50 MB needs at most twice its size at any time, in any
// place, and delays no other session.
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	if racing() {
		t.Skip("the race detector takes memory of its own")
	}
	answer := `{"type":"assistant","uuid":"long","timestamp":"2026-11-20T09:00:00Z","version":"2.1.197","message":{"id":"long","usage":{"input_tokens":4321,"output_tokens":1},"content":[{"type":"text","text":"`
	prompt := `{"type":"user","uuid":"long","timestamp":"2026-11-20T09:00:00Z","version":"2.1.197","message":{"content":"\n\"é`
	for _, kind := range []struct {
		name, before, after string
		most                int64
		where               []string
	}{
		{
			"reply",
			answer,
			`"}]}}`,
			longMost,
			[]string{"history", "parked", "young", "live", "pieces", "unfinished"},
		},
		{"prompt", prompt, `"}}`, longMost + longBytes + 10<<20, []string{"history", "live"}},
		{"bad", answer, ``, longMost, []string{"live"}},
	} {
		for _, where := range kind.where {
			t.Run(kind.name+"_"+where, func(t *testing.T) {
				if !alone(
					t,
					8,
				) { // in one of eight runs a tail reads the line before the loop ends it
					return
				}
				line := longLine(t, kind.before, kind.after)
				m := newMeasured(t)
				if where == "parked" {
					m.o.ActiveFor = time.Nanosecond
				}
				long := m.path("-p", idA+".jsonl")
				m.append(long, reply(1, 100))
				want := size(t, long) + size(t, line)
				switch where {
				case "history":
					copyTo(t, line, long)
					m.begin()
					m.start()
				case "unfinished":
					m.append(long, kind.before+strings.Repeat("x", 2*farBytes))
					want += size(t, long) - int64(len(reply(1, 100)))
					m.begin()
					m.start()
					go pieces(t, line, long)
				case "pieces":
					m.start()
					m.settle("before")
					m.begin()
					go pieces(t, line, long)
				default:
					m.start()
					m.settle("before")
					if where == "live" {
						m.idle(startGrace + 100*time.Millisecond) // tails are no longer checked at each write
					}
					m.begin()
					copyTo(t, line, long)
				}
				m.watch(long, want, kind.most)
			})
		}
	}
}

// measured is a rig with a memory limit, and another file that grows.
type measured struct {
	*rig
	other  string
	before int64
}

func newMeasured(t *testing.T) *measured {
	m := &measured{rig: newRig(t)}
	m.other = m.path("-p", idB+".jsonl")
	m.append(m.other, reply(1, 100))
	return m
}

// begin resets the peak.
func (m *measured) begin() {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		m.t.Skip(err)
	}
	m.before = status(m.t, "VmRSS")
}

// watch appends to the other file until the long line has been read, and then compares the
// peak.
func (m *measured) watch(long string, want, most int64) {
	var worst time.Duration
	n := 2
	for done := false; !done; n++ {
		since := time.Now()
		m.append(m.other, reply(n, 100))
		m.until(
			"append to the other file",
			func() bool { return m.files[m.other].Session.Messages == n },
		)
		worst = max(worst, time.Since(since))
		done = m.files[long].Session.Bytes == want
	}
	peak := status(m.t, "VmHWM") - m.before
	m.stop()
	fmt.Printf(
		"peak +%d MB over %d MB, others delayed by %v at most in %d appends\n",
		peak>>20,
		m.before>>20,
		worst.Round(time.Millisecond),
		n,
	)
	if s := m.files[long].Session; s.Lines != 2 {
		m.t.Errorf("the long line was not read: %+v", s)
	}
	if peak > most {
		m.t.Errorf("%d MB more at the peak, want at most %d", peak>>20, most>>20)
	}
	if worst > 2*time.Second {
		m.t.Errorf("others were delayed by %v", worst)
	}
}

// TestLongestLine tests that a line beyond the limit counts as bad, and that the lines after
// it are read.
func TestLongestLine(t *testing.T) {
	p := newReader(t, claude.Format(), idA+".jsonl", nil)
	at := func(offset int64, text string) {
		t.Helper()
		file, err := os.OpenFile(p.path, os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteAt([]byte(text), offset)
			file.Close()
		}
		noErrors(t, err)
	}
	const hole = longest + 1<<20 // takes no space on the disk
	first := reply(1, 100)
	at(0, first+`{"type":"user","message":{"content":"`)
	end := int64(len(first)) + hole
	at(end, "\"}}\n"+reply(2, 100))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	changes := p.read(transcript.Cursor{}, false)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("it took %d bytes", n)
	}
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	whole := size(t, p.path)
	a := changes[0]
	if s := a.Session; s.Lines != 3 || s.Bad != 1 || s.Messages != 2 || s.Bytes != whole ||
		a.Cursor.Offset != whole {
		t.Errorf("got %+v", s)
	}
	// The cursor fits the file: without new lines there are no changes, and with one line
	// there is one.
	if again := p.read(a.Cursor, true); len(again) != 0 {
		t.Errorf("read again: %+v", again)
	}
	at(whole, reply(3, 100))
	if more := p.read(
		a.Cursor,
		true,
	); len(more) != 1 || more[0].Whole ||
		len(more[0].Entries) != 1 {
		t.Errorf("appended: %+v", more)
	}
}
