package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// daemon is an observer in a separate process, which can be killed and started again with the
// same state.
type daemon struct {
	t        *testing.T
	dir      string // home, with state and socket in it
	projects string
	vars     []string   // of its environment, besides the basic ones
	bin      string     // the program, by default sm
	as       []string   // runs "observe" and its arguments, by default the program
	listen   string     // its address on TCP
	passed   []*os.File // its sockets, from descriptor 3 on
	cmd      *exec.Cmd
	exited   chan error
	http     http.Client
	api      *api.Client
}

func newDaemon(t *testing.T) *daemon {
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	noErrors(t, err)
	d := &daemon{
		t:        t,
		dir:      dir,
		projects: filepath.Join(dir, "projects"),
		listen:   "127.0.0.1:0",
	}
	d.http = socketClient(d.socket())
	d.api = api.NewClient([]string{d.socket()})
	t.Cleanup(func() {
		if d.cmd != nil {
			d.kill()
		}
		if t.Failed() {
			t.Logf("the log ends with:\n%s", d.log(4000))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	noErrors(t, os.Mkdir(d.projects, 0o700))
	return d
}

// socketClient asks an observer over its socket.
func socketClient(path string) http.Client {
	return http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives: true,
	}}
}

func (d *daemon) socket() string { return filepath.Join(d.dir, "s") }
func (d *daemon) state() string  { return filepath.Join(d.dir, "state") }

// log returns the end of what all processes so far have written to standard error.
func (d *daemon) log(n int) string {
	b, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-n):])
}

// command returns sm as it runs on a machine without other settings.
func (d *daemon) command(args ...string) *exec.Cmd {
	return d.program(append([]string{cmp.Or(d.bin, "sm")}, args...))
}

func (d *daemon) program(argv []string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(d.t.Context()), argv[0], argv[1:]...)
	cmd.Env = append(
		[]string{
			quickRace,
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + d.dir,
			"SM_SOCKET=" + d.socket(),
			"CODEX_HOME=" + filepath.Join(d.dir, ".codex"),
		},
		d.vars...,
	)
	return cmd
}

// launch starts the process without waiting.
func (d *daemon) launch() {
	d.t.Helper()
	log, err := os.OpenFile(
		filepath.Join(d.dir, "log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	)
	noErrors(d.t, err)
	defer log.Close()
	as := d.as
	if as == nil {
		as = []string{cmp.Or(d.bin, "sm")}
	}
	cmd := d.program(slices.Concat(
		as,
		[]string{
			"observe",
			"--projects",
			d.projects,
			"--state",
			d.state(),
			"--listen",
			d.listen,
		},
	))
	cmd.ExtraFiles = d.passed
	exited := make(chan error, 1)
	cmd.Stderr = log
	noErrors(d.t, cmd.Start())
	d.cmd = cmd
	d.exited = exited
	go func() { exited <- cmd.Wait() }()
}

// start runs the observer until it has caught up.
func (d *daemon) start() {
	d.t.Helper()
	d.launch()
	d.eventually("ready", func() string {
		_, err := d.get("/-/ready")
		return message(err)
	})
}

// kill ends it as kill -9 does; it returns false if it had already ended.
func (d *daemon) kill() bool {
	killed := d.cmd.Process.Kill() == nil
	err := <-d.exited
	d.cmd = nil
	exit, ok := errors.AsType[*exec.ExitError](err)
	return killed && ok && !exit.Exited()
}

// end sends a signal and returns the exit code.
func (d *daemon) end(signal syscall.Signal) int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		d.t.Error(err)
	}
	<-d.exited
	code := d.cmd.ProcessState.ExitCode()
	d.cmd = nil
	return code
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// eventually waits until problem returns "".
func (d *daemon) eventually(what string, problem func() string) {
	d.t.Helper()
	d.within(2*time.Minute, what, problem)
}

// comes reports whether done returns true before the timeout. It calls done at each tick.
func comes(every time.Duration, timeout <-chan time.Time, done func() bool) bool {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-timeout:
			return false
		}
	}
	return true
}

// within is eventually with another timeout.
func (d *daemon) within(patience time.Duration, what string, problem func() string) {
	d.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		p := problem()
		if p == "" {
			return
		}
		select {
		case <-tick.C:
		case err := <-d.exited:
			d.exited <- err
			d.t.Fatalf("%s: the observer has ended: %v", what, err)
		case <-timeout:
			d.t.Fatalf("timeout waiting for %s: %s", what, p)
		}
	}
}

func (d *daemon) get(path string) (string, error) {
	resp, err := d.http.Get("http://localhost" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}

// series returns the lines of /metrics: values by name and labels.
func (d *daemon) series() map[string]float64 {
	d.t.Helper()
	values, err := d.scrape()
	noErrors(d.t, err)
	return values
}

func (d *daemon) scrape() (map[string]float64, error) {
	text, err := d.get("/metrics")
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' && err == nil {
			values[line[:i]], err = strconv.ParseFloat(line[i+1:], 64)
		}
	}
	return values, err
}
