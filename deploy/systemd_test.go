package deploy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// needs finds a program, or skips the test, or fails it if CI=true.
func needs(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs the program %s (Debian's package %s)", program, pkg)
	default:
		t.Skipf("needs the program %s (Debian's package %s)", program, pkg)
	}
	return path
}

// run runs a program in a separate home, which must succeed without error messages.
func run(t *testing.T, home, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"XDG_RUNTIME_DIR=" + home,
		"LC_ALL=C.UTF-8",
		"NO_COLOR=1",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// TestService tests that systemd understands the whole unit, as one of a user who has
// installed sm at its path.
func TestService(t *testing.T) {
	analyze := needs(t, "systemd-analyze", "systemd")
	home := t.TempDir()
	unit := filepath.Join(home, ".config", "systemd", "user", "sm.service")
	program := filepath.Join(home, ".local", "bin", "sm")
	text, err := os.ReadFile("systemd/sm.service")
	if err := errors.Join(err, os.MkdirAll(
		filepath.Dir(unit),
		0o700,
	), os.MkdirAll(
		filepath.Dir(program),
		0o700,
	),
		os.WriteFile(
			unit,
			text,
			0o600,
		), os.WriteFile(
			program,
			[]byte("#!/bin/sh\n"),
			0o600,
		), os.Chmod(
			program,
			0o700,
		)); err != nil {
		t.Fatal(err)
	}
	if out := run(t, home, analyze, "--user", "verify", unit); strings.TrimSpace(out) != "" {
		t.Errorf("output:\n%s", out)
	}
	// The figure is that of the system manager, which cannot know that a user's service has
	// no capabilities.
	run(t, home, analyze, "security", "--offline=yes", "--threshold=70", unit)
}

// TestServiceVerifyBites tests that the check finds unknown settings.
func TestServiceVerifyBites(t *testing.T) {
	analyze := needs(t, "systemd-analyze", "systemd")
	home := t.TempDir()
	unit := filepath.Join(home, "sm.service")
	if err := os.WriteFile(
		unit,
		[]byte("[Service]\nExecStart=/bin/true\nWatchdogSeconds=3\n"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	if out := run(
		t,
		home,
		analyze,
		"--user",
		"verify",
		unit,
	); !strings.Contains(
		out,
		"WatchdogSeconds",
	) {
		t.Errorf("output:\n%s", out)
	}
}
