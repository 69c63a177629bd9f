package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// procTree is a /proc with processes and their parents.
func procTree(t *testing.T, parents map[int]int) string {
	t.Helper()
	proc := t.TempDir()
	for pid, parent := range parents {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "%d (a b) S %d 0", pid, parent), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proc
}

func TestChildOf(t *testing.T) {
	proc := procTree(t, map[int]int{10: 20, 20: 30, 30: 40, 40: 1, 50: 60, 60: 50, 70: 0})
	for _, tt := range []struct {
		ancestor, pid, want int
		ok                  bool
	}{
		{40, 10, 30, true}, {20, 10, 10, true}, {10, 10, 0, false}, {99, 10, 0, false}, {1, 10, 0, false}, {99, 50, 0, false}, {10, 70, 0, false}, {10, 80, 0, false},
	} {
		if got, ok := childOf(tt.ancestor, tt.pid, proc); got != tt.want || ok != tt.ok {
			t.Errorf("%d of %d: %d, %v", tt.ancestor, tt.pid, got, ok)
		}
	}
}

func TestCatches(t *testing.T) {
	proc := procTree(t, map[int]int{1: 0, 2: 0, 3: 0, 4: 0})
	for pid, status := range map[int]string{
		1: "Name:\tx\nSigIgn:\t0000000000000200\nSigCgt:\t0000000000000200\n", 2: "SigIgn:\t0000000000000200\nSigCgt:\t0000000000000100\n", 3: "SigCgt:\tx\n",
	} {
		if err := os.WriteFile(filepath.Join(proc, fmt.Sprint(pid), "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]bool{1: true, 2: false, 3: false, 4: false, 5: false} {
		if got := catches(proc, pid, syscall.SIGUSR1); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}

func TestSupervisorIsAnAncestor(t *testing.T) {
	for value, want := range map[string]string{
		"": "is not set", "0": "is not set", "-1": "is not set", "x": "is not set", "2147483647": "has not started this client",
		fmt.Sprint(os.Getpid()): "has not started this client",
	} {
		p, err := testEnv(map[string]string{supervisorVariable: value}).supervisor()
		if err == nil || p != nil || !strings.HasPrefix(err.Error(), "not under sm run: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", value, p, err)
		}
	}
}
