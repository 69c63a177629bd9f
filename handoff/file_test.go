package handoff

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sm/transcript/wording"
)

// fileLimit is the size limit of documents under test, in bytes.
const fileLimit = 256 << 10

// write writes a file and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestExamineFit(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"plan.md",
		"日本語.md",
		"\U0001F600.md",
	} {
		path := write(t, filepath.Join(dir, name), "\ufeff# Plan\nnext: tests\n")
		got, err := Examine(path, time.Now().Add(-time.Minute), fileLimit)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if string(got.Content) != "\ufeff# Plan\nnext: tests\n" || got.Modified.IsZero() {
			t.Errorf("%q: got %+v", name, got)
		}
	}
	exact := write(t, filepath.Join(dir, "exact"), strings.Repeat("x", 100))
	if _, err := Examine(exact, time.Time{}, 100); err != nil {
		t.Errorf("a file as large as the limit: %v", err)
	}
	link := filepath.Join(dir, "folder")
	noError(t, os.Symlink(dir, link))
	if _, err := Examine(filepath.Join(link, "exact"), time.Time{}, fileLimit); err != nil {
		t.Errorf("below a link to a folder: %v", err)
	}
}

// TestExamineHostile tests the files that an agent, or the author of its text, may name as
// its document.
func TestExamineHostile(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	began := time.Now().Add(-time.Hour)
	plan := write(t, in("plan.md"), "plan")
	must := func(err error) { t.Helper(); noError(t, err) }

	must(syscall.Mkfifo(in("fifo"), 0o600))
	must(os.Symlink("/etc/passwd", in("secret")))
	must(os.Link(write(t, in("two"), "two"), in("names")))
	socket, err := net.Listen("unix", in("s"))
	must(err)
	defer socket.Close()
	write(t, in("empty"), "")
	write(t, in("sparse"), "x")
	must(os.Truncate(in("sparse"), 10<<30))
	write(t, in("large"), strings.Repeat("x", fileLimit+1))
	write(t, in("latin"), "gr\xfc\xdfe")
	write(t, in("nul"), "a\x00b")
	write(t, in("old"), "old")
	must(os.Chtimes(in("old"), time.Now(), began.Add(-time.Second)))
	for _, name := range []string{
		"new\nline",
		"esc\x1b[2J",
		"bidi\u202egpj.md",
		"c1\u0085",
		"bad\xff",
	} {
		write(t, in(name), "x")
	}

	for _, c := range []struct {
		name, path string
		want       FileReason
	}{
		{"no path", "", FileRelative},
		{"relative", "plan.md", FileRelative},
		{"missing", in("nothing"), FileMissing},
		{"below a file", plan + "/x", FileMissing},
		{"folder", dir, FileIrregular},
		{"FIFO", in("fifo"), FileIrregular},
		{"socket", in("s"), FileIrregular},
		{"endless device", "/dev/zero", FileIrregular},
		{"link to a secret", in("secret"), FileSymlink},
		{"hard link", in("names"), FileLinked},
		{"empty", in("empty"), FileEmpty},
		{"10 GB", in("sparse"), FileLarge},
		{"one byte too large", in("large"), FileLarge},
		{"Latin-1", in("latin"), FileEncoding},
		{"NUL inside", in("nul"), FileEncoding},
		{"of the previous session", in("old"), FileStale},
		{"line break in the name", in("new\nline"), FileName},
		{"escape in the name", in("esc\x1b[2J"), FileName},
		{"bidi in the name", in("bidi\u202egpj.md"), FileName},
		{"C1 in the name", in("c1\u0085"), FileName},
		{"invalid UTF-8 in the name", in("bad\xff"), FileName},
		{"NUL in the name", in("plan.md\x00.png"), FileName},
		{"very long element", in(strings.Repeat("x", 300)), FileName},
		{"very long path", "/" + strings.Repeat("x/", 3000), FileName},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.path, began, c.want) })
	}
}

// refused checks that a file is refused with one line that ends with the remedy.
func refused(t *testing.T, path string, since time.Time, want FileReason) {
	t.Helper()
	asked := time.Now()
	got, err := Examine(path, since, fileLimit)
	t.Logf("refused within %v", time.Since(asked))
	if !errors.Is(err, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if got.Content != nil {
		t.Errorf("%d bytes of a refused file came back", len(got.Content))
	}
	line := err.Error()
	if strings.ContainsFunc(line, func(r rune) bool { return !wording.Printable(r) }) ||
		!strings.HasPrefix(line, "hand over "+quoted(path)+": ") ||
		!strings.HasSuffix(line, want.Error()) ||
		len(line) > 2000 {
		t.Errorf("%d bytes: %q", len(line), line)
	}
}

func TestExamineKernelFiles(t *testing.T) {
	for _, path := range []string{
		"/proc/self/environ",
		"/proc/self/mem",
		"/proc/kmsg",
		"/sys/kernel/mm/transparent_hugepage/enabled",
	} {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		_, err := Examine(path, time.Time{}, fileLimit)
		if _, ok := errors.AsType[FileReason](err); !ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestExamineForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		refused(t, "/etc/passwd", time.Time{}, FileForeign)
		return
	}
	path := write(t, filepath.Join(t.TempDir(), "theirs"), "x")
	noError(t, os.Chown(path, 65534, 65534))
	refused(t, path, time.Time{}, FileForeign)
}

// TestExamineSwapped replaces and rewrites a file continuously. The result must be one of the
// contents, complete.
func TestExamineSwapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan")
	secret := write(t, filepath.Join(dir, "secret"), "secret")
	stop := make(chan struct{})
	done := make(chan struct{})
	var reads atomic.Int64
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Remove(path)
			switch i % 4 {
			case 0:
				_ = os.Symlink(secret, path)
			case 1:
				_ = syscall.Mkfifo(path, 0o600)
			case 2:
				_ = os.Link(secret, path)
			default:
				_ = os.WriteFile(path+"~", []byte("fine"), 0o600)
				_ = os.Rename(path+"~", path)
				for last := reads.Load(); reads.Load() < last+2; { // so that the file is read meanwhile
					select {
					case <-stop:
						return
					default:
						runtime.Gosched()
					}
				}
			}
		}
	}()
	seen := map[FileReason]int{}
	for n := 0; n < 5000 || (seen[""] < 10 || len(seen) < 4) && n < 500_000; n++ {
		got, err := Examine(path, time.Time{}, fileLimit)
		reads.Add(1)
		if err == nil && string(got.Content) != "fine" {
			t.Errorf("read %q", got.Content)
		}
		reason, _ := errors.AsType[FileReason](err)
		seen[reason]++
	}
	close(stop)
	<-done
	if seen[""] == 0 || len(seen) < 4 {
		t.Errorf("no file was swapped: %v", seen)
	}
	t.Logf("%v", seen)
}

func TestReadStill(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "plan"), "a plan")
	f, err := os.Open(path)
	noError(t, err)
	defer f.Close()
	before, err := f.Stat()
	noError(t, err)
	write(t, path, "another plan")
	if _, err := readStill(f, before); !errors.Is(err, FileSwapped) {
		t.Errorf("a file that has grown: %v", err)
	}
}

func TestOlder(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 700e6, time.UTC)
	for _, c := range []struct {
		name     string
		modified time.Time
		want     bool
	}{
		{"after", began.Add(time.Millisecond), false},
		{"at once", began, false},
		{"within a tick", began.Add(-4 * time.Millisecond), false},
		{"before", began.Add(-11 * time.Millisecond), true},
		{"in whole seconds", began.Truncate(time.Second), false},
		{"a second before", began.Truncate(time.Second).Add(-time.Second), true},
	} {
		if got := older(c.modified, began); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
