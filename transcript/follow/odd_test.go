package follow

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oddities creates, in a folder, files that are named like transcripts and are none. It
// returns their names; each has to be logged once.
func oddities(t *testing.T, dir string) (names []string) {
	t.Helper()
	noErrors(t, os.MkdirAll(dir, 0o700))
	make := func(name string, how func(path string) error) {
		if err := how(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		} else if name != "device.jsonl" || os.Getuid() == 0 {
			t.Fatal(err)
		}
	}
	link := func(to string) func(string) error {
		return func(path string) error { return os.Symlink(to, path) }
	}
	make("folder.jsonl", func(path string) error { return os.Mkdir(path, 0o700) })
	make("pipe.jsonl", func(path string) error { return syscall.Mkfifo(path, 0o600) })
	make(
		"device.jsonl",
		func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) },
	) // as /dev/zero
	make("socket.jsonl", func(path string) error {
		short := filepath.Join(
			"/proc/self/cwd",
			path,
		) // a socket's path has room for 107 bytes
		if rel, err := filepath.Rel(".", path); err == nil && len(rel) < len(path) {
			short = rel
		} else if len(path) < 108 {
			short = path
		}
		l, err := net.Listen("unix", short)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	})
	make("loop-a.jsonl", link("loop-b.jsonl"))
	make("loop-b.jsonl", link("loop-a.jsonl"))
	make("dangling.jsonl", link("nowhere"))
	make("link.jsonl", link(filepath.Join(dir, idA+".jsonl")))
	make("esc\x1b[2J\nnew line\xff.jsonl", link("nowhere"))
	return names
}

// strange returns names of regular files that must not reach a terminal, and others that have
// broken programs.
func strange() []string {
	return []string{
		"esc\x1b]0;x\x07.jsonl",
		"new\nline.jsonl",
		"bad\xff\xfe.jsonl",
		"-rf.jsonl",
		" .jsonl",
		"..jsonl",
		"é\u202e.jsonl",
		strings.Repeat("n", 249) + ".jsonl",
	}
}

// logOnce checks for one line for each name, without folders, and without control characters.
func (r *rig) logOnce(names []string) {
	r.t.Helper()
	want := map[string]int{}
	got := map[string]int{}
	for _, name := range names {
		want[name] = 1
	}
	for _, line := range r.log.lines() {
		if strings.Contains(line, filepath.Dir(r.root)) ||
			strings.ContainsFunc(
				strings.TrimSuffix(line, "\n"),
				func(c rune) bool { return c < ' ' || c == 0x7f || c == '\u202e' },
			) {
			r.t.Errorf("not for a log: %q", line)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " name=")
		if unquoted, err := unquote(name); err == nil {
			name = unquoted
		}
		got[name]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("logged (-want +got):\n%s", diff)
	}
}

func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	var out string
	_, err := fmt.Sscanf(s, "%q", &out)
	return out, err
}

// TestOddFiles tests that a reader neither blocks on, nor reads, nor follows files that are
// not regular, reports them once, and continues with the rest.
func TestOddFiles(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.o.Rescan = 100 * time.Millisecond
		fill := func(project, id string) {
			r.append(r.path(project, id+".jsonl"), reply(1, 100))
			r.append(r.path(project, "empty.jsonl"), "")
			r.append(r.path(project, "blank.jsonl"), "\n  \n\t\r\n\n")
			r.append(r.path(project, ".jsonl"), reply(1, 1)) // no name, no transcript
			r.append(r.path(project, "folder.jsonl", idB+".jsonl"), reply(2, 200))
			for i, name := range strange() {
				r.append(r.path(project, name), reply(10+i, 10))
			}
		}
		names := oddities(t, r.path("-before"))
		fill("-before", idA)
		r.start()
		r.settle("what was there")
		r.logOnce(names)
		later := oddities(t, r.path("-after"))
		fill("-after", idA)
		r.settle("what came later")
		for n := range 3 {
			r.append(r.path("-before", idA+".jsonl"), reply(20+n, 300))
			r.append(r.path("-after", "folder.jsonl", idB+".jsonl"), reply(20+n, 300))
			r.append(r.path("-after", "empty.jsonl"), reply(20+n, 300))
			r.append(r.path("-after", strange()[n]), reply(20+n, 300))
			r.settle("appends to the rest")
			r.idle(150 * time.Millisecond) // they are found again
		}
		// The names of both folders are the same, so each is listed twice.
		lines := r.log.lines()
		if len(lines) != len(names)+len(later) {
			t.Errorf(
				"%d lines for %d oddities:\n%s",
				len(lines),
				len(names)+len(later),
				strings.Join(lines, ""),
			)
		}
		if got := r.files[r.path(
			"-after",
			"blank.jsonl",
		)].Session; got.Lines != 0 || got.Bad != 0 ||
			got.Bytes != 8 {
			t.Errorf("blank lines: %+v", got)
		}
	})
}

// TestLinkedFolders tests that a project's folder may be a link, that none is searched twice,
// and that links further down are ignored.
func TestLinkedFolders(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		elsewhere := t.TempDir()
		r.append(filepath.Join(elsewhere, idA+".jsonl"), reply(1, 100))
		link := func(to string, at ...string) {
			noErrors(t, os.Symlink(to, r.path(at...)))
		}
		r.append(r.path("-p", idB+".jsonl"), reply(2, 100))
		link(elsewhere, "-linked")
		link("..", "-up")
		link(".", "-self")
		link(r.path("-loop2"), "-loop1")
		link(r.path("-loop1"), "-loop2")
		link(elsewhere, "-p", "deep")
		r.start()
		inLink := r.path("-linked", idA+".jsonl")
		inFolder := r.path("-p", idB+".jsonl")
		for n := range 3 {
			r.append(filepath.Join(elsewhere, idA+".jsonl"), reply(10+n, 100))
			r.append(inFolder, reply(20+n, 100))
			r.until("both files", func() bool {
				return r.files[inLink].Session.Messages == 2+n &&
					r.files[inFolder].Session.Messages == 2+n
			})
		}
		var paths []string
		for path := range r.files {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		if diff := cmp.Diff([]string{inLink, inFolder}, paths); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})
}
