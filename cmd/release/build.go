package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// A target is a system that there is an archive for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func targets() []target {
	return []target{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}
}

// programs are what is built: sm, and the small one that hooks call.
func programs() []string { return []string{"sm", "sm-hook"} }

func hostTarget() target { return target{runtime.GOOS, runtime.GOARCH} }

// compile builds a program for a target. Paths of this machine stay out of it by -trimpath, the symbols that only a
// debugger reads by -s -w; the commit gets into it whatever GOFLAGS says.
func (r *release) compile(ctx context.Context, t target, program string) (string, error) {
	out := filepath.Join(r.stage, t.os+"_"+t.arch, program)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", out, "./cmd/"+program)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	return out, runQuietly(cmd)
}

// runQuietly runs a command; what it says is in the error of one that fails.
func runQuietly(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// moduleRoot is the folder of go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("no go.mod above this folder: run it in the source tree")
	}
	return filepath.Dir(mod), nil
}

// build is what the toolchain has recorded in a program.
type build struct {
	version string // "v1.2.3"; without a tag a pseudo version
	commit  string
	time    time.Time // of the commit, which is the time of all files that are made
	dirty   bool
	goVer   string
	deps    []*debug.Module
}

func readBuild(program string) (build, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return build{}, err
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) (build, error) {
	b := build{version: info.Main.Version, goVer: info.GoVersion, deps: info.Deps}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			b.dirty = s.Value == "true"
		case "vcs.time":
			at, err := time.Parse(time.RFC3339, s.Value)
			if err != nil {
				return b, fmt.Errorf("time of the commit: %w", err)
			}
			b.time = at.UTC()
		}
	}
	if b.commit == "" || b.time.IsZero() {
		return b, fmt.Errorf("the program does not know its commit: git is missing, or this is no clone of the repository; in a git worktree Go finds none, so make a clone")
	}
	return b, nil
}

// unfit says why this is no release, or nothing.
func (b build) unfit() string {
	switch {
	case b.dirty:
		return "the tree has changes that are not committed"
	case strings.Count(b.version, "-") > 1: // v0.1.1-0.20260304050607-0123456789ab; v1.0.0-rc.1 has one
		return "the commit has no tag"
	}
	return ""
}

// plain is the version as packages have it.
func (b build) plain() string { return strings.TrimPrefix(b.version, "v") }
