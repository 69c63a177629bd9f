package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCatches(t *testing.T) {
	t.Parallel()
	procDir := t.TempDir()
	for pid, status := range map[int]string{
		1: "Name:\tx\nSigIgn:\t0000000000000200\nSigCgt:\t0000000000000200\n", 2: "SigIgn:\t0000000000000200\nSigCgt:\t0000000000000100\n", 3: "SigCgt:\tx\n",
	} {
		dir := filepath.Join(procDir, fmt.Sprint(pid))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]bool{1: true, 2: false, 3: false, 4: false, 5: false} {
		if got := catches(procDir, pid, syscall.SIGUSR1); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}

func TestSupervisorIsAnAncestor(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "is not set", "0": "is not set", "-1": "is not set", "x": "is not set", "2147483647": "has not started this client",
		fmt.Sprint(os.Getpid()): "has not started this client",
	} {
		p, err := testEnv(map[string]string{supervisorVariable: value}).caller().supervisor()
		if err == nil || p != nil || !strings.HasPrefix(err.Error(), "not under sm run: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", value, p, err)
		}
	}
}
