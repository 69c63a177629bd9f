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
	if !NewLocks("/proc").Held(path) {
		t.Error("a file that is locked is not")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if NewLocks("/proc").Held(path) {
		t.Error("a file that is free is locked")
	}
	if NewLocks(dir).Held(path) || NewLocks("/proc").Held(filepath.Join(dir, "none")) {
		t.Error("without a list, or a file, something is locked")
	}
}

func TestFlocks(t *testing.T) {
	held := flocks([]byte("1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 4712 08:01:123457 0 EOF\n" +
		"2: POSIX  ADVISORY  WRITE 4711 08:01:99 0 EOF\n3: FLOCK  ADVISORY  READ  12 00:2f:7 0 EOF\n\nodd\n4: FLOCK ADVISORY WRITE 1 x 0 EOF\n"))
	if len(held) != 2 {
		t.Errorf("held %v", held)
	}
	for _, ino := range []uint64{123456, 7} {
		if _, ok := held[ino]; !ok {
			t.Errorf("%d is not held", ino)
		}
	}
}
