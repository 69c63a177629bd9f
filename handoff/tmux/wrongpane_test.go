package tmux

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is the name of tmux here: a program that records its arguments and becomes tmux.
const recorder = "tmux-recorder"

func record() error {
	f, err := os.OpenFile(os.Args[0]+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(strings.Join(
		append(os.Args[1:], os.Environ()...),
		"\x1f",
	) + "\n"); err != nil {
		return err
	}
	path, err := os.Readlink(os.Args[0] + ".tmux")
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{"tmux"}, os.Args[1:]...), os.Environ())
}

// TestNoDataInArguments tests that texts and names chosen by others are never arguments, and
// that tmux does not get this process's environment.
func TestNoDataInArguments(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	noError(t, err)
	path := filepath.Join(dir, recorder)
	noError(t, os.Symlink(exe, path))
	t.Setenv("TMUX", "/nowhere,1,1")
	t.Setenv("SM_TEST_SECRET", "secret")
	r := newRig(t, pace{})
	r.Server.binary = path
	noError(t, os.Symlink(r.binary, path+".tmux"))
	// Names that would run a command if they were part of a format. tmux itself reads the
	// names here as formats, in which ## is a #.
	harm := filepath.Join(dir, "PWN")
	name := "agent ##(touch " + harm + ")"
	a := r.start("new-session", "-d", "-s", name, "-n", name, "-x", "80", "-y", "24")
	if got := r.tmux(
		"display-message",
		"-p",
		"-t",
		a.pane.ID,
		"#{session_name}",
	); got != "agent #(touch "+harm+")" {
		t.Fatalf("got session name %q", got)
	}
	a.reaches(ReasonNone)
	text := "[sm test] marker; #(touch PWN) ; -t %0 #a1b2c3"
	noError(t, a.typed(text))
	if got := a.wait("submit", 1).Text; got != text {
		t.Errorf("submitted %q", got)
	}
	if _, err := os.Stat(harm); err == nil {
		t.Error("a name was run as a command")
	}
	log, err := os.ReadFile(path + ".log")
	noError(t, err)
	for _, data := range []string{
		"marker",
		"a1b2c3",
		"PWN",
		"agent",
		"secret",
		"TMUX",
		"/nowhere",
	} {
		if strings.Contains(string(log), data) {
			t.Errorf("%q is in the arguments or environment", data)
		}
	}
	verbs := map[string]bool{}
	for line := range strings.Lines(string(log)) {
		args := strings.Split(strings.TrimSpace(line), "\x1f")
		if len(args) < 4 || args[0] != "-u" || args[1] != "-S" || args[2] != r.socket ||
			args[len(args)-1] != "LC_ALL=C.UTF-8" {
			t.Errorf("got arguments %q", args)
			continue
		}
		verbs[args[3]] = true
		for i, arg := range args {
			if arg == ";" {
				verbs[args[i+1]] = true
			}
		}
	}
	want := map[string]bool{
		"display-message": true,
		"list-clients":    true,
		"capture-pane":    true,
		"load-buffer":     true,
		"if-shell":        true,
	}
	if diff := cmp.Diff(want, verbs); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
