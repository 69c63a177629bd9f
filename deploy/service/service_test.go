package service

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rig is a home with a service manager that records commands.
type rig struct {
	Options
	out strings.Builder
	ran []string
	err error // of each command
}

func newRig(t *testing.T, system string) *rig {
	t.Helper()
	home := t.TempDir()
	r := &rig{}
	r.Options = Options{
		System:  system,
		Home:    home,
		Config:  filepath.Join(home, ".config"),
		Program: "/opt/my tools/100%/sm",
		Socket:  "/run/user/7/sm/sm.sock",
		Listen:  []string{"127.0.0.1:8420", "[::1]:8420"},
		UID:     7,
		Out:     &r.out,
		Run: func(_ context.Context, program string, args ...string) (string, error) {
			r.ran = append(r.ran, strings.Join(append([]string{program}, args...), " "))
			return "enabled\n", r.err
		},
	}
	return r
}

// tree returns the texts of all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	tests := []struct {
		system         string
		files          []string
		first, again   []string
		removed, state []string
	}{
		{
			"linux",
			[]string{
				".config/systemd/user/sm.service",
				".config/systemd/user/sm.socket",
			},
			[]string{
				"systemctl --user daemon-reload",
				"systemctl --user enable sm.socket sm.service",
				"systemctl --user stop sm.service sm.socket",
				"systemctl --user start sm.socket sm.service",
			},
			[]string{"systemctl --user enable --now sm.socket sm.service"},
			[]string{
				"systemctl --user disable --now sm.socket sm.service",
				"systemctl --user daemon-reload",
			},
			[]string{
				"systemctl --user is-enabled sm.socket",
				"systemctl --user is-active sm.socket",
				"systemctl --user is-enabled sm.service",
				"systemctl --user is-active sm.service",
			},
		},
		{
			"darwin",
			[]string{"Library/LaunchAgents/local.sm.observe.plist"},
			[]string{
				"launchctl bootout gui/7/local.sm.observe",
				"launchctl enable gui/7/local.sm.observe",
				"launchctl bootstrap gui/7 HOME/Library/LaunchAgents/local.sm.observe.plist",
			},
			[]string{
				"launchctl bootstrap gui/7 HOME/Library/LaunchAgents/local.sm.observe.plist",
				"launchctl kickstart gui/7/local.sm.observe",
			},
			[]string{"launchctl bootout gui/7/local.sm.observe"},
			[]string{"launchctl print gui/7/local.sm.observe"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.system, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.system)
			step := func(name string, do func(context.Context, Options) error, want []string) {
				t.Helper()
				r.ran = nil
				if err := do(t.Context(), r.Options); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, line := range r.ran {
					r.ran[i] = strings.ReplaceAll(line, r.Home, "HOME")
				}
				if diff := cmp.Diff(want, r.ran); diff != "" {
					t.Errorf("%s ran (-want +got)\n%s", name, diff)
				}
			}
			r.DryRun = true
			step("dry install", Install, nil)
			if files := tree(t, r.Home); len(files) != 0 {
				t.Errorf("a dry run wrote %q", files)
			}
			r.DryRun = false
			step("install", Install, tt.first)
			files := tree(t, r.Home)
			for _, name := range tt.files {
				if !strings.Contains(files[name], mark) {
					t.Errorf("%s: %q", name, files[name])
				}
			}
			step("again", Install, tt.again)
			if diff := cmp.Diff(files, tree(t, r.Home)); diff != "" {
				t.Errorf("the second install changed files (-first +second)\n%s", diff)
			}
			step("status", Status, tt.state)
			r.Program = "/elsewhere/sm"
			step("moved", Install, tt.first)
			step("remove", Remove, tt.removed)
			step("remove again", Remove, nil)
			if err := os.Remove(filepath.Dir(filepath.Join(
				r.Home,
				tt.files[0],
			))); !errors.Is(
				err,
				fs.ErrNotExist,
			) {
				t.Errorf(
					"left behind: files %q, and the folder that install made: %v",
					tree(t, r.Home),
					err,
				)
			}
		})
	}
}

// TestStrangers tests that a file of another program stays, with an error or a note.
func TestStrangers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "linux")
	path := filepath.Join(r.Config, "systemd", "user", "sm.service")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, []byte("[Unit]\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if err := Install(
		t.Context(),
		r.Options,
	); err == nil ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("install: %v", err)
	}
	if err := Remove(t.Context(), r.Options); err != nil {
		t.Errorf("remove: %v", err)
	}
	if text := tree(t, r.Config)["systemd/user/sm.service"]; text != "[Unit]\n" {
		t.Errorf("the file is now %q", text)
	}
	if err := Install(t.Context(), Options{System: "plan9"}); err == nil {
		t.Error("a system without services is accepted")
	}
}

// TestObserverRuns tests that an observer that is not the service keeps its socket.
func TestObserverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, "linux")
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r.Socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Install(
		t.Context(),
		r.Options,
	); err == nil || !strings.Contains(err.Error(), "stop it") ||
		len(tree(t, r.Home)) != 0 {
		t.Errorf("%v; files %q", err, tree(t, r.Home))
	}
	r.DryRun = true
	if err := Install(t.Context(), r.Options); err != nil ||
		!strings.Contains(r.out.String(), "stop it") {
		t.Errorf("a dry run: %v, %s", err, r.out.String())
	}
	r.DryRun = false
	r.Run = func(_ context.Context, _ string, args ...string) (string, error) { return "active\n", nil }
	if err := Install(t.Context(), r.Options); err != nil {
		t.Errorf("over the service's own: %v", err)
	}
}

// TestNoManager tests that without a service manager the files are written, and the error has
// a remedy.
func TestNoManager(t *testing.T) {
	t.Parallel()
	r := newRig(t, "linux")
	r.err = errors.New("exit status 1")
	if err := Install(
		t.Context(),
		r.Options,
	); err == nil || !strings.Contains(err.Error(), "run it yourself") ||
		len(tree(t, r.Config)) != 2 {
		t.Errorf("%v; files %q", err, tree(t, r.Config))
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	o := newRig(t, "linux").Options
	if text := serviceUnit(o); !strings.Contains(
		text,
		"\nExecStart=\"/opt/my tools/100%%/sm\" observe\n",
	) ||
		strings.Contains(text, "cp bin/sm") {
		t.Errorf("service:\n%s", text)
	}
	o.Args = []string{"--config", "/etc/my sm.yaml"}
	if text := serviceUnit(o); !strings.Contains(
		text,
		"\nExecStart=\"/opt/my tools/100%%/sm\" --config \"/etc/my sm.yaml\" observe\n",
	) {
		t.Errorf("service:\n%s", text)
	}
	want := "[Socket]\nListenStream=/run/user/7/sm/sm.sock\nListenStream=127.0.0.1:8420\nListenStream=[::1]:8420\nSocketMode=0600\n"
	if text := socketUnit(o); !strings.Contains(text, want) {
		t.Errorf("socket:\n%s", text)
	}
	o.Program = "/a&b/<sm>"
	o.Home = "/h"
	d := xml.NewDecoder(strings.NewReader(plist(o)))
	var words []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			words = append(words, strings.TrimSpace(string(text)))
		}
	}
	if got := fmt.Sprint(words); !strings.Contains(
		got,
		"ProgramArguments /a&b/<sm> --config /etc/my sm.yaml observe RunAtLoad",
	) {
		t.Errorf("plist: %s", got)
	}
}

// TestVerify tests that systemd accepts the units.
func TestVerify(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs the program systemd-analyze (Debian's package systemd)")
		}
		t.Skip("needs systemd-analyze")
	}
	r := newRig(t, "linux")
	r.Program = filepath.Join(r.Home, "my tools", "100%", "sm")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(r.Program), 0o700),
		os.WriteFile(r.Program, []byte("#!/bin/sh\n"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	if err := Install(t.Context(), r.Options); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(r.Config, "systemd", "user")
	cmd := exec.CommandContext(
		t.Context(),
		analyze,
		"--user",
		"verify",
		filepath.Join(dir, "sm.socket"),
		filepath.Join(dir, "sm.service"),
	)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Home,
		"XDG_RUNTIME_DIR=" + r.Home,
		"LC_ALL=C.UTF-8",
	}
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestStatusMissing tests that without one of its files there is no service, unless it runs
// with the units of a package.
func TestStatusMissing(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{"active": true, "inactive": false} {
		r := newRig(t, "linux")
		r.Run = func(context.Context, string, ...string) (string, error) { return state, nil }
		socket := filepath.Join(r.Config, "systemd/user/sm.socket")
		if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(socket, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Status(t.Context(), r.Options); (err == nil) != want {
			t.Errorf("%s: %v", state, err)
		}
	}
}
