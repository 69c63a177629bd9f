package proc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLocks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("/proc/locks"); err != nil {
		t.Skip(err)
	}
	if p, held := NewLocks("/proc").Holder(path); !held || p.PID != os.Getpid() || p.Start == "" {
		t.Errorf("a file that is locked is not, or by %+v", p)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, held := NewLocks("/proc").Holder(path); held {
		t.Error("a file that is free is locked")
	}
	_, nowhere := NewLocks(dir).Holder(path)
	if _, held := NewLocks("/proc").Holder(filepath.Join(dir, "none")); held || nowhere {
		t.Error("without a list, or a file, something is locked")
	}
}

func TestFlocks(t *testing.T) {
	held := flocks([]byte("1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 4712 08:01:123457 0 EOF\n" +
		"2: POSIX  ADVISORY  WRITE 4711 08:01:99 0 EOF\n3: FLOCK  ADVISORY  READ  12 00:2f:7 0 EOF\n\nodd\n4: FLOCK ADVISORY WRITE 1 x 0 EOF\n"))
	if len(held) != 2 {
		t.Errorf("held %v", held)
	}
	for ino, pid := range map[uint64]int{123456: 4711, 7: 12} {
		if held[ino] != pid {
			t.Errorf("%d is held by %d", ino, held[ino])
		}
	}
}
