package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"sm/deploy/install"
)

// deadPID is larger than any process id.
const deadPID = 1 << 30

// registers adds a client to the client's registry.
func (r *installRig) registers(name, version string, pid int) {
	r.t.Helper()
	r.write(
		r.dir+"/sessions/"+name+".json",
		fmt.Sprintf(`{"pid":%d,"version":%q,"procStart":""}`, pid, version),
		0o600,
	)
}

// TestInstallByClientVersion tests that a client that is too old, in the PATH or running, is
// refused.
func TestInstallByClientVersion(t *testing.T) {
	t.Parallel()
	const tooOld = ", and its hooks do not work before 2.1.120; "
	for name, tt := range map[string]struct {
		with   func(*installRig)
		reason string // of a refusal
	}{
		"the oldest that works": {func(r *installRig) { r.client("2.1.120") }, ""},
		"too old": {
			func(r *installRig) { r.client("2.1.119") },
			"2.1.119, by ~/path/claude" + tooOld + "run claude update",
		},
		"the next main version": {func(r *installRig) { r.client("3.0.0") }, ""},
		"none":                  {func(r *installRig) { r.vars["PATH"] = "" }, ""},
		"no version":            {func(r *installRig) { r.client("") }, ""},
		"an old one runs": {func(r *installRig) {
			r.registers(
				"3",
				"2.1.99",
				os.Getpid(),
			)
		}, fmt.Sprintf(
			"2.1.99, which runs as process %d%send process %[1]d, and run claude update if it was the newest you have",
			os.Getpid(), tooOld)},
		"an old one has ended": {
			func(r *installRig) { r.registers("1", "2.1.99", deadPID) },
			"",
		},
		"an invalid registry": {func(r *installRig) {
			r.write(r.dir+"/sessions/1.json", `{"pid":1,"version":"2.0.0"}`, 0o600)
			r.write(r.dir+"/sessions/2.json", `[`, 0o600)
			r.registers("3", "x", os.Getpid())
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newInstallRig(t)
			tt.with(r)
			want := outcome{Out: installedLine}
			if tt.reason != "" {
				want = outcome{
					1,
					"",
					"sm: claude is " + tt.reason + ", then install again\n",
				}
			}
			r.want(want, "install")
			if _, err := os.Stat(r.path); (err == nil) != (tt.reason == "") {
				t.Errorf("settings: %v", err)
			}
		})
	}
}

// TestInstallWaitsForTheClient tests that a client that prints no version in time is refused.
func TestInstallWaitsForTheClient(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	r.write(r.home+"/path/claude", "#!/bin/sh\nexec sleep 600\n", 0o700)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as after the timeout
	o := install.Options{
		Program:  r.program,
		Settings: r.path,
		Home:     r.home,
		Data:     r.home,
		State:    r.home,
		Path:     r.home + "/path",
		Stdout:   io.Discard,
	}
	if err := o.Install(ctx, install.Claude()); err == nil ||
		!strings.Contains(err.Error(), "prints nothing") {
		t.Errorf("error %v", err)
	}
}
