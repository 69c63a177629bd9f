package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sm/handoff/proc"
)

// runPane is a shell with job control in a private tmux server, for one `sm run` at a time.
type runPane struct {
	*runRig
	tmux string
}

func newRunPane(t *testing.T, vars ...string) *runPane {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err == nil {
		_, err = exec.LookPath("bash")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tmux or bash is missing: install it")
		}
		t.Skip("needs tmux and bash")
	}
	p := &runPane{
		newRunRig(t, append(vars, "TERM=xterm-256color", "PS1=ready> ", "LC_ALL=C.UTF-8")...),
		tmux,
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", p.screen())
		}
		pid := 0
		fmt.Sscan(p.do("display-message", "-p", "#{pid}"), &pid)
		p.do("kill-server")
		p.until("tmux ends", func() bool { return !proc.Alive(pid, "") })
	})
	p.do(
		"new-session",
		"-d",
		"-s",
		"run",
		"-x",
		"100",
		"-y",
		"30",
		"bash",
		"--norc",
		"--noprofile",
		"-i",
	)
	p.shows("ready>")
	return p
}

// do runs a tmux command; the server has the environment of the rig, by which the census
// finds its processes.
func (p *runPane) do(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(
		p.tmux,
		append([]string{"-S", filepath.Join(p.dir, "tmux"), "-f", "/dev/null"}, args...)...,
	)
	cmd.Env = p.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *runPane) screen() string { return p.do("capture-pane", "-p", "-J", "-t", "run") }

func (p *runPane) keys(keys ...string) {
	p.do(append(
		[]string{"send-keys", "-t", "run"},
		keys...,
	)...)
}

// line types a line at the shell.
func (p *runPane) line(text string) {
	p.do("send-keys", "-t", "run", "-l", text)
	p.keys("Enter")
}

func (p *runPane) shows(text string) {
	p.t.Helper()
	p.until(
		fmt.Sprintf("the screen shows %q", text),
		func() bool { return strings.Contains(p.screen(), text) },
	)
}

// says runs a command in the shell, which must be at its prompt, and waits for its answer.
func (p *runPane) says(command, answer string) {
	p.t.Helper()
	p.line("echo '<'" + command + "'>'")
	p.shows("<" + answer + ">")
}

// begin runs the simulated client, whose parent is the supervisor.
func (p *runPane) begin() runEvent {
	p.t.Helper()
	p.line("sm run -- " + runClientName)
	return p.wait("start", 1)
}

// sane checks that the terminal has the modes that a shell needs.
func (p *runPane) sane() {
	p.t.Helper()
	p.says("$(stty -a | grep -c ' icanon.* echo \\| echo .*icanon\\|isig icanon')", "1")
	p.modes("0 0 1")
}

// modes waits until the alternate screen, the mouse and the cursor are on or off.
func (p *runPane) modes(want string) {
	p.t.Helper()
	const format = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"
	p.until(want, func() bool { return p.do("display-message", "-p", "-t", "run", format) == want })
}

func TestRunTerminalInterrupt(t *testing.T) {
	t.Parallel()
	for _, code := range []int{130, 0} {
		p := newRunPane(t)
		p.begin()
		p.order(fmt.Sprint("interrupt ", code))
		p.keys("C-c")
		p.says("$?", fmt.Sprint(code))
		if got := len(p.events("SIGINT")); got != 1 || len(p.events("start")) != 1 {
			t.Errorf("%d SIGINT, %d clients", got, len(p.events("start")))
		}
		p.sane()
	}
}

// TestRunTerminalSuspend tests that the shell is back however the client was stopped, and
// that fg continues both.
func TestRunTerminalSuspend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(p *runPane)
	}{
		{"Ctrl-Z", func(p *runPane) { p.keys("C-z") }},
		{"by the client", func(p *runPane) { p.order("suspend") }},
		{"the client alone", func(p *runPane) { p.order("stop") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newRunPane(t)
			client := p.begin()
			for n := 1; n <= 2; n++ {
				c.stop(p)
				p.until(
					"the job stops",
					func() bool { return strings.Count(p.screen(), "Stopped") == n },
				)
				for _, pid := range []int{client.PID, client.Parent} {
					p.until(
						"both are stopped",
						func() bool {
							s, err := proc.Stat(
								"/proc",
								pid,
							)
							return err == nil &&
								s.State == "T"
						},
					)
				}
				p.line("fg")
				p.wait("SIGCONT", n)
			}
			p.order("exit 9")
			p.says("$?", "9")
			p.sane()
		})
	}
}

// TestRunTerminalIsSane tests that after a killed client has left an unusable terminal, the
// next client and the shell get a usable one.
func TestRunTerminalIsSane(t *testing.T) {
	t.Parallel()
	p := newRunPane(t, "SM_SUPERVISE_TERM_AFTER=1s")
	supervisor := p.begin().Parent
	p.order("ignore-term")
	p.order("raw")
	p.modes("1 1 0")
	noErrors(t, syscall.Kill(supervisor, syscall.SIGUSR1))
	if second := p.wait("start", 2); !second.Cooked || second.Parent != supervisor {
		t.Errorf("the second client got %+v", second)
	}
	p.order("raw")
	p.order("kill 9")
	p.says("$?", "137")
	p.sane()
	p.shows("sm: restarted the client 1 of 10 times")
}
