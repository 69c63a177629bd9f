package tmux

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/handoff/proc"
)

// patience bounds the wait for an event on a busy machine.
const patience = 20 * time.Second

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a tmux server on a private socket.
type rig struct {
	*Server
	t      *testing.T
	binary string
	socket string
	made   int
}

// pace has the timing of a server; the zero value is a patient one.
type pace struct{ quiet, timeout, echo time.Duration }

func newRig(t *testing.T, o pace) *rig {
	t.Helper()
	r := newIdleRig(t, o)
	r.tmux("new-session", "-d", "-s", "keep", "-x", "80", "-y", "24", "sleep", "1000")
	return r
}

// newIdleRig returns a rig without a server.
func newIdleRig(t *testing.T, o pace) *rig {
	t.Helper()
	binary, err := exec.LookPath("tmux")
	if err != nil ||
		runtime.GOOS != "linux" { // nothing is typed if no client can be verified
		if os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
			t.Fatal("tmux is missing: install it")
		}
		t.Skip("needs tmux and Linux")
	}
	s, err := New()
	noError(t, err)
	s.quiet = cmp.Or(o.quiet, -1)
	s.timeout = cmp.Or(o.timeout, patience)
	s.echo = cmp.Or(o.echo, patience)
	r := &rig{
		Server: s,
		t:      t,
		binary: binary,
		socket: filepath.Join(t.TempDir(), "s"),
	}
	t.Cleanup(r.kill)
	return r
}

// kill ends the server and waits: every program in its panes gets a SIGHUP.
func (r *rig) kill() {
	out, err := r.try("display-message", "-p", "#{pid}")
	if err != nil {
		return
	}
	var pid int
	fmt.Sscan(out, &pid)
	r.try("kill-server")
	r.until("the server ends", func() bool {
		p, err := proc.Stat("/proc", pid)
		return err != nil || p.Ended()
	})
}

func (r *rig) try(args ...string) (string, error) {
	cmd := exec.Command(
		r.binary,
		append([]string{"-u", "-S", r.socket, "-f", "/dev/null"}, args...)...,
	)
	cmd.Env = []string{
		"LC_ALL=C.UTF-8",
		"PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"SHELL=/bin/sh",
		"PS1=$ ",
		"ENV=",
		"HOME=" + filepath.Dir(r.socket),
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("tmux %q: %w: %s", args, err, complaint.String())
	}
	return string(out), err
}

func (r *rig) tmux(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	noError(r.t, err)
	return strings.TrimSuffix(out, "\n")
}

// until waits for an effect of other processes.
func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("timeout waiting for: %s", what)
		}
	}
}

// agent is a simulated client in a pane.
type agent struct {
	r      *rig
	dir    string
	pane   Pane
	client Client
}

// standIn returns the command of a new simulated client.
func (r *rig) standIn() (a *agent, argv []string) {
	r.t.Helper()
	r.made++
	a = &agent{
		r:   r,
		dir: filepath.Join(filepath.Dir(r.socket), fmt.Sprintf("agent%d", r.made)),
	}
	noError(r.t, os.Mkdir(a.dir, 0o700))
	noError(r.t, syscall.Mkfifo(filepath.Join(a.dir, "orders"), 0o600))
	exe, err := os.Executable()
	noError(r.t, err)
	return a, []string{
		"env",
		standInVariable + "=" + a.dir,
		"GOMAXPROCS=1",
		exe,
		"-test.run=^$",
	}
}

// start runs a simulated client: verb is a tmux command that makes a pane.
func (r *rig) start(verb ...string) *agent {
	r.t.Helper()
	a, argv := r.standIn()
	id := r.tmux(slices.Concat(verb, []string{"-P", "-F", "#{pane_id}"}, argv)...)
	a.met(id)
	return a
}

func (r *rig) startWindow() *agent {
	r.t.Helper()
	return r.start("new-window", "-d", "-t", "keep:")
}

// met waits for the simulated client and reads its process and pane.
func (a *agent) met(id string) {
	a.r.t.Helper()
	e := a.wait("start", 1)
	p, err := proc.Stat("/proc", e.PID)
	noError(a.r.t, err)
	server := 0
	fmt.Sscan(a.r.tmux("display-message", "-p", "#{pid}"), &server)
	a.pane = Pane{a.r.socket, server, id}
	a.client = Client{e.PID, p.Start}
}

func (a *agent) events(kind string) (found []event) {
	a.r.t.Helper()
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		a.r.t.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		var e event
		if json.Unmarshal(line, &e) == nil &&
			e.Kind == kind { // the last line may be incomplete
			found = append(found, e)
		}
	}
	return found
}

// wait waits for the nth event of a kind.
func (a *agent) wait(kind string, n int) (e event) {
	a.r.t.Helper()
	a.r.until(fmt.Sprintf("%s number %d of %s", kind, n, a.dir), func() bool {
		found := a.events(kind)
		if len(found) < n {
			return false
		}
		e = found[n-1]
		return true
	})
	return e
}

func (a *agent) order(text string) {
	a.r.t.Helper()
	n := len(a.events("done"))
	a.leave(text)
	if text != "exit" {
		a.r.until("an order is done in "+a.dir, func() bool {
			return len(a.events("done")) > n || a.gone()
		})
	}
}

// gone reports whether the simulated client has ended.
func (a *agent) gone() bool {
	p, err := proc.Stat("/proc", a.client.PID)
	return err != nil || p.Start != a.client.Start || p.Ended()
}

// leave gives an order without an answer.
func (a *agent) leave(text string) {
	a.r.t.Helper()
	// Opened for reading and writing, so that it does not wait for a client that has ended.
	fifo, err := os.OpenFile(filepath.Join(a.dir, "orders"), os.O_RDWR, 0)
	noError(a.r.t, err)
	defer fifo.Close()
	_, err = fifo.WriteString(text + "\n")
	noError(a.r.t, err)
}

func (a *agent) submitted() (texts []string) {
	a.r.t.Helper()
	for _, e := range a.events("submit") {
		texts = append(texts, e.Text)
	}
	return texts
}

// reaches waits until Ready returns the reason for the pane: tmux needs a moment to draw.
func (a *agent) reaches(want Reason) {
	a.r.t.Helper()
	var got error
	a.r.until("a pane with reason "+string(want), func() bool {
		got = a.r.Ready(a.r.t.Context(), a.pane, a.client)
		return ReasonOf(got) == want && (want != ReasonNone || got == nil)
	})
}

func (a *agent) typed(text string) error {
	return a.typedAfter(text, nil)
}

// line returns a text for the agent.
func (a *agent) line(text string, check func(context.Context) error) Line {
	return Line{
		Pane:   a.pane,
		Client: a.client,
		Text:   text,
		Check:  check,
	}
}

// typedAfter is typed with a check.
func (a *agent) typedAfter(text string, check func(context.Context) error) error {
	return a.r.Type(a.r.t.Context(), a.line(text, check))
}

// untouched checks that the client got no input.
func (a *agent) untouched() {
	a.r.t.Helper()
	if raw := a.bytes(); len(raw) > 0 {
		a.r.t.Errorf("the client got %q", raw)
	}
}

// noBuffers checks that no buffer is left.
func (r *rig) noBuffers() {
	r.t.Helper()
	if out := r.tmux("list-buffers"); out != "" {
		r.t.Errorf("buffers left: %s", out)
	}
}

// pasteUnchecked pastes a text without any check.
func (r *rig) pasteUnchecked(pane, text string) {
	r.t.Helper()
	cmd := r.command(r.t.Context(), r.socket, "load-buffer", "-b", "test", "-")
	cmd.Stdin = strings.NewReader(text)
	noError(r.t, cmd.Run())
	r.tmux("paste-buffer", "-p", "-r", "-d", "-b", "test", "-t", pane)
}

// Ready returns nil if a text could be typed now, or the error of Type.
func (r *rig) Ready(ctx context.Context, p Pane, c Client) error {
	_, _, err := r.ready(ctx, Line{Pane: p, Client: c}, nil)
	return err
}
