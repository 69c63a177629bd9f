package follow

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unprivileged drops the privileges of the process, a test that runs alone, so that
// permissions apply.
func unprivileged(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	if err := syscall.Setegid(nobody); err != nil {
		t.Skip(err)
	}
	if err := syscall.Seteuid(nobody); err != nil {
		t.Skip(err)
	}
}

// deniedModes is modes for a test that runs alone and without privileges.
func deniedModes(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	if alone(t, 1) {
		unprivileged(t)
		modes(t, test)
	}
}

func (r *rig) chmod(path string, mode os.FileMode) {
	r.t.Helper()
	r.must(os.Chmod(path, mode))
}

// logged checks for exactly these lines, in any order, without time and level.
func (r *rig) logged(want ...string) {
	r.t.Helper()
	var got []string
	for _, line := range r.log.lines() {
		_, text, _ := strings.Cut(line, " msg=")
		got = append(got, strings.TrimSpace(text))
	}
	if diff := cmp.Diff(
		slices.Sorted(slices.Values(want)),
		slices.Sorted(slices.Values(got)),
	); diff != "" {
		r.t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// TestDenied tests that an unreadable file is reported once, delays no other, and is read as
// soon as it is readable.
func TestDenied(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	deniedModes(t, func(t *testing.T, r *rig) {
		r.o.Check = 0 // the default
		file := r.path("-p", idA+".jsonl")
		folder := r.path("-q")
		good := r.path("-r", idB+".jsonl")
		r.append(file, reply(1, 100))
		r.append(r.path("-q", idA+".jsonl"), reply(2, 100))
		r.append(good, reply(3, 100))
		r.chmod(file, 0)
		r.chmod(folder, 0)
		defer r.chmod(folder, 0o700) // for the cleanup
		r.start()
		for n := range 3 {
			r.append(good, reply(10+n, 100))
			r.until(
				"append to another file",
				func() bool { return r.files[good].Session.Messages == 2+n },
			)
			r.idle(time.Second) // the others are tried again
		}
		denied := []string{
			`"cannot read a transcript; trying again each second, or when it changes" session=` + idA + ` err="permission denied"`,
			`"a folder is left alone: permission denied"`,
		}
		r.logged(denied...)
		r.chmod(file, 0o600)
		r.until(
			"a file that may be read now",
			func() bool { return r.files[file].Session.Messages == 1 },
		)
		r.chmod(folder, 0o700)
		r.until("a folder that may be read now", r.right)
		r.append(r.path("-q", idA+".jsonl"), reply(5, 100))
		r.append(file, reply(6, 100))
		r.until("appends to both", r.right)
		r.logged(denied...)
	})
}

// TestDeniedWhileLive tests a limitation of nxadm/tail: it ends the process when a stat
// fails, and when one tail ends, none gets events any more. The lookers then read all files.
func TestDeniedWhileLive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	deniedModes(t, func(t *testing.T, r *rig) {
		r.o.Check = 0
		folder := r.path("-p")
		good := r.path("-r", idB+".jsonl")
		file := r.path("-p", idA+".jsonl")
		r.append(file, reply(1, 100))
		r.append(good, reply(2, 100))
		r.start()
		r.append(file, reply(3, 100))
		r.settle("append")
		r.idle(startGrace + 100*time.Millisecond)
		writer, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		noErrors(t, err)
		defer writer.Close()
		write := func(n int) {
			if _, err := writer.WriteString(reply(n, 100)); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 2 {
			r.chmod(folder, 0)
			for n := range 50 { // with pending events
				write(100*round + 10 + n)
			}
			r.idle(1500 * time.Millisecond)
			write(100*round + 70)
			r.chmod(folder, 0o700)
			r.until("the live file may be read again", r.right)
		}
		if r.o.NoInotify {
			return
		}
		r.idle(startGrace + 100*time.Millisecond)
		for _, path := range []string{file, good} {
			var slow int
			for n := range 10 {
				r.append(path, reply(1000+n, 100))
				since := time.Now()
				r.until("append", r.right)
				if time.Since(since) > 600*time.Millisecond {
					slow++
				}
			}
			if slow > 2 {
				t.Errorf("%d of 10 lines were late", slow)
			}
		}
		// The file once a round, and the folder if it was searched meanwhile.
		if lines := r.log.lines(); len(lines) > 3 ||
			!strings.Contains(
				strings.Join(lines, ""),
				"session="+idA+` err="permission denied"`,
			) {
			t.Errorf("logged:\n%s", strings.Join(lines, ""))
		}
	})
}

// TestMovedAndDenied tests that an unreadable file that was moved keeps nothing from its old
// name, and that the old name's session is dropped.
func TestMovedAndDenied(t *testing.T) {
	t.Parallel()
	deniedModes(t, func(t *testing.T, r *rig) {
		r.o.ActiveFor = time.Nanosecond // a parked file is identified only by its inode
		old := r.path("-p", idA+".jsonl")
		moved := r.path("-q", idA+".jsonl")
		r.append(old, reply(1, 100))
		r.append(r.path("-q", idB+".jsonl"), reply(2, 100))
		r.start()
		r.settle("history")
		r.chmod(old, 0)
		r.must(os.Rename(old, moved))
		r.until(
			"the old name is forgotten",
			func() bool { _, there := r.files[old]; return !there },
		)
		r.append(old, reply(3, 300)+reply(4, 300))
		r.until(
			"a new file of the old name",
			func() bool { return r.files[old].Session.Messages == 2 },
		)
		r.chmod(moved, 0o600)
		r.settle("both may be read")
	})
}
