package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestLocks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	f, err := os.Create(path)
	noError(t, err)
	defer f.Close()
	noError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	if _, err := os.ReadFile("/proc/locks"); err != nil {
		t.Skip(err)
	}
	if p, held := new(Locks).Holder(path); !held || p.PID != os.Getpid() ||
		p.Start == "" {
		t.Errorf("got holder %+v, want this process", p)
	}
	noError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
	if _, held := new(Locks).Holder(path); held {
		t.Error("an unlocked file is reported as locked")
	}
	if _, held := new(Locks).Holder(filepath.Join(dir, "none")); held {
		t.Error("a missing file is reported as locked")
	}
}

func TestFlocks(t *testing.T) {
	held := flocks([]byte("1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 4712 08:01:123457 0 EOF\n" +
		"2: POSIX  ADVISORY  WRITE 4711 08:01:99 0 EOF\n3: FLOCK  ADVISORY  READ  12 00:2f:7 0 EOF\n\nodd\n4: FLOCK ADVISORY WRITE 1 x 0 EOF\n"))
	if len(held) != 2 {
		t.Errorf("held %v", held)
	}
	for inode, pid := range map[uint64]int{123456: 4711, 7: 12} {
		if len(held[inode]) != 1 || held[inode][0] != pid {
			t.Errorf("%d is held by %d, want %d", inode, held[inode], pid)
		}
	}
}

// TestLocksOfOthers tests that no process of another user counts as the holder of a file, nor
// one that locks another file with the same inode.
func TestLocksOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run a process as another user")
	}
	dir := t.TempDir()
	noError(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "a.lock")
	noError(t, os.WriteFile(path, nil, 0o666))
	info, err := os.Stat(path)
	noError(t, err)
	inode := info.Sys().(*syscall.Stat_t).Ino
	f, err := os.Open(path)
	noError(t, err)
	defer f.Close()

	stranger := exec.Command("sleep", "60")
	stranger.Stdin = f
	stranger.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
	}
	own := exec.Command("sleep", "60")
	for _, cmd := range []*exec.Cmd{stranger, own} {
		noError(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}

	for name, pid := range map[string]int{
		"another user": stranger.Process.Pid,
		"another file": own.Process.Pid,
	} {
		l := new(Locks)
		l.held = map[uint64][]int{inode: {pid}}
		l.read = time.Now().Add(time.Hour)
		if p, held := l.Holder(path); held {
			t.Errorf("%s: held by %+v", name, p)
		}
	}
}
