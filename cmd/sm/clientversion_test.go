package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sm/deploy/install"
)

// deadPID is larger than any process's.
const deadPID = 1 << 30

// registers puts a client into the client's registry.
func (r *installRig) registers(name, version string, pid int) {
	r.t.Helper()
	r.write(r.dir+"/sessions/"+name+".json", fmt.Sprintf(`{"pid":%d,"version":%q,"procStart":""}`, pid, version), 0o600)
}

// transcribes leaves a transcript of a client; i orders them in time.
func (r *installRig) transcribes(i int, text string) {
	r.t.Helper()
	path := fmt.Sprintf("%s/projects/p/%d.jsonl", r.dir, i)
	r.write(path, text, 0o600)
	at := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		r.t.Fatal(err)
	}
}

// TestInstallByClientVersion: the oldest of the client in the PATH and those that run decides; only without any of them
// the transcripts do.
func TestInstallByClientVersion(t *testing.T) {
	t.Parallel()
	old := func(what string) outcome {
		return outcome{1, "", "sm: the client is " + what + ", then install again\n"}
	}
	ends := fmt.Sprintf("; end process %d, and run claude update if it was the newest you have", os.Getpid())
	runs := fmt.Sprintf(", which runs as process %d", os.Getpid())
	several := func(which string) string {
		return "sm: several versions of the client share these settings: writing for the oldest, " + which + "; install again when it has ended\n"
	}
	record := func(version string) string {
		return `{"type":"user","version":"` + version + `","message":{"content":"\"version\":\"9.9.9\""}}` + "\n"
	}
	for _, tt := range []struct {
		name string
		with func(*installRig)
		want outcome
		args bool // hooks without a shell
	}{
		{"a current one", func(*installRig) {}, outcome{Out: installedLine}, true},
		{"the first that runs hooks without a shell", func(r *installRig) { r.client("2.1.139") }, outcome{
			Out: installedLine,
		}, true},
		{"the last that does not", func(r *installRig) { r.client("2.1.138") }, outcome{Out: installedLine}, false},
		{"the oldest that works", func(r *installRig) { r.client("2.1.120") }, outcome{Out: installedLine}, false},
		{"one that is too old", func(r *installRig) { r.client("2.1.119") },
			old("2.1.119, by ~/path/claude, and its hooks do not work before 2.1.120; run claude update"), false},
		{"one that is far too old", func(r *installRig) { r.client("1.0.90") },
			old("1.0.90, by ~/path/claude, and its hooks do not work before 2.1.120; run claude update"), false},
		{"one of the next main version", func(r *installRig) { r.client("3.0.0") }, outcome{Out: installedLine}, true},
		{"none", func(r *installRig) { r.vars["PATH"] = "" }, outcome{Out: installedLine, ErrOut: assumedLine}, true},
		{"one that does not say", func(r *installRig) { r.client("") }, outcome{
			Out:    installedLine,
			ErrOut: assumedLine,
		}, true},
		{"an older one runs", func(r *installRig) { r.registers("1", "2.1.130", os.Getpid()) }, outcome{
			Out:    installedLine,
			ErrOut: several("2.1.130" + runs),
		}, false},
		{"an older one runs, which knows the same", func(r *installRig) {
			r.registers(
				"1",
				"2.1.139",
				os.Getpid(),
			)
		}, outcome{
			Out: installedLine,
		}, true},
		{"a newer one runs", func(r *installRig) {
			r.client("2.1.130")
			r.registers("1", "2.1.330", os.Getpid())
		}, outcome{Out: installedLine, ErrOut: several("2.1.130, by ~/path/claude")}, false},
		{"the oldest of three runs", func(r *installRig) {
			r.registers("1", "2.1.200", os.Getpid())
			r.registers("2", "2.1.99", os.Getpid())
			r.registers("3", "2.1.130", os.Getpid())
		}, old("2.1.99" + runs + ", and its hooks do not work before 2.1.120" + ends), false},
		{"an older one has ended", func(r *installRig) { r.registers("1", "2.1.99", deadPID) }, outcome{
			Out: installedLine,
		}, true},
		{"the registry is odd", func(r *installRig) {
			r.write(r.dir+"/sessions/1.json", `{"pid":1,"version":"2.0.0"}`, 0o600)
			r.write(r.dir+"/sessions/2.json", `[`, 0o600)
			r.registers("3", "x", os.Getpid())
		}, outcome{Out: installedLine}, true},
		{"transcripts beside a client", func(r *installRig) { r.transcribes(1, record("1.0.0")) }, outcome{
			Out: installedLine,
		}, true},
		{"the newest transcript that tells", func(r *installRig) {
			r.vars["PATH"] = ""
			r.transcribes(1, record("1.0.0"))
			r.transcribes(
				2,
				record("1.0.0")+strings.Repeat("x", 256<<10)+"\n"+record("2.1.130")+`{"type":"summary"}`+"\n",
			)
			r.transcribes(3, `{"type":"summary","summary":"a title"}`+"\n")
		}, outcome{Out: installedLine}, false},
		{"transcripts of an old one alone", func(r *installRig) {
			r.vars["PATH"] = ""
			r.transcribes(1, record("2.1.50"))
		}, old("2.1.50, by ~/.claude/projects/p/1.jsonl, and its hooks do not work before 2.1.120; run claude update"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInstallRig(t)
			tt.with(r)
			dry := r.run("install", "--dry-run")
			if dry.ErrOut != tt.want.ErrOut || dry.Code != tt.want.Code || (dry.Out == "") != (tt.want.Code != 0) {
				t.Errorf("dry run: %+v", dry)
			}
			r.want(tt.want, "install")
			_, err := os.Stat(r.path)
			if there := err == nil; there != (tt.want.Code == 0) {
				t.Fatalf("settings: %v", err)
			}
			if tt.want.Code != 0 {
				return
			}
			if got := strings.Contains(r.read(r.path), `"args"`); got != tt.args {
				t.Errorf("settings: %s", r.read(r.path))
			}
			again := tt.want
			again.Out = unchangedLine
			r.want(again, "install")
		})
	}
}

// TestInstallMovesBetweenForms: whatever version the settings were written for, there is each hook once, in the form of
// the version that is there now, and nothing is left in the end.
func TestInstallMovesBetweenForms(t *testing.T) {
	t.Parallel()
	const mine = `{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"mine"}]}]}}`
	r := newInstallRig(t)
	r.write(r.path, mine, 0o600)
	for _, version := range []string{"2.1.330", "2.1.130", "2.1.330", "2.1.138", "2.1.139"} {
		r.client(version)
		r.want(outcome{Out: installedLine}, "install")
		r.want(outcome{Out: unchangedLine}, "install")
		text := r.read(r.path)
		args := strings.Count(text, `"command":"`+r.program+`","args":["hook"]`)
		shell := strings.Count(text, `"command":"`+r.program+` hook"}`)
		if want := map[bool][2]int{
			true:  {8, 0},
			false: {0, 8},
		}[install.TakesArgs(version)]; want != [2]int{args, shell} {
			t.Errorf("%s: %d hooks without a shell and %d with, want %v: %s", version, args, shell, want, text)
		}
	}
	r.want(outcome{Out: uninstalledLine}, "uninstall")
	if got := r.read(r.path); got != mine {
		t.Errorf("left %s", got)
	}
}
