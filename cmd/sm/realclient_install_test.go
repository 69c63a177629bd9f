//go:build realclient

package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	realClientVersion = "2.1.197"
	realClientModel   = "claude-sonnet-4-5"
	// patience bounds each wait. A client starts in a second and answers in a tenth of a
	// second; on a very busy machine that takes minutes.
	patience = 4 * time.Minute
	look     = 20 * time.Millisecond
)

// eventually waits until f returns "" and fails with its last result.
func eventually(t *testing.T, what string, f func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		wrong := f()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: after %v still: %s", what, patience, wrong)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s: interrupted: %s", what, wrong)
		}
	}
}

// need finds a program, or skips the test, or fails if CI=true.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		missing(t, "no %s: install it to run against the real client", program)
	}
	return path
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// realClient finds the client in $CLIENT_DIR, or installs it once into the user's cache
// directory. It is never part of the repository.
func realClient(t *testing.T) string {
	t.Helper()
	version := cmp.Or(os.Getenv("CLIENT_VERSION"), realClientVersion)
	return installClient(t, os.Getenv("CLIENT_DIR"), version)
}

// installClient finds a version of the client in dir, or installs it there; "" is the user's
// cache directory.
func installClient(t *testing.T, dir, version string) string {
	t.Helper()
	if dir == "" {
		dir = cachedClient(t, "client-"+version)
	}
	return installPackage(t, dir, "@anthropic-ai/claude-code@"+version, "claude")
}

// cachedClient is the folder of a client in the user's cache directory.
func cachedClient(t *testing.T, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, "no cache directory for the client: %v; set CLIENT_DIR", err)
	}
	return filepath.Join(cache, "sm", name)
}

// installPackage finds a program of an npm package in dir, or installs the package there.
func installPackage(t *testing.T, dir, spec, program string) string {
	t.Helper()
	client := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(client); err == nil {
		return client
	}
	npm := need(t, "npm")
	noErrors(t, os.MkdirAll(filepath.Dir(dir), 0o700))
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	noErrors(t, err)
	defer os.RemoveAll(fresh)
	t.Logf("installing %s into %s", spec, dir)
	run := func(dir, program string, args ...string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := grouped(ctx, program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			missing(t, "cannot install the client: %v\n%s", err, out)
		}
	}
	run(fresh, npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", fresh, spec)
	pkg := filepath.Join(
		fresh,
		"node_modules",
		filepath.FromSlash(spec[:strings.LastIndexByte(spec, '@')]),
	)
	if _, err := os.Stat(filepath.Join(pkg, "install.cjs")); err == nil {
		run(pkg, need(t, "node"), "install.cjs") // npm may be configured to run no scripts
	}
	// A rename is atomic: an interrupted installation leaves nothing, and a concurrent one
	// has installed the same.
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(client); there != nil {
			t.Fatal(err)
		}
	}
	return client
}
