package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestServiceSockets tests that sockets that a service manager keeps open are served, and
// that requests during a restart wait for the next observer instead of being refused.
func TestServiceSockets(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	unix, err := net.Listen("unix", d.socket())
	noErrors(t, err)
	noErrors(t, os.Chmod(d.socket(), 0o600))
	for _, l := range []interface{ File() (*os.File, error) }{
		unix.(*net.UnixListener),
		tcp.(*net.TCPListener),
	} {
		f, err := l.File()
		noErrors(t, err)
		defer f.Close()
		d.passed = append(d.passed, f)
	}
	unix.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = unix.Close()
	_ = tcp.Close() // the descriptors stay open
	d.listen = tcp.Addr().String()
	d.vars = []string{"LISTEN_FDS=2"}
	d.as = []string{"sh", "-c", `LISTEN_PID=$$ exec sm "$@"`, "sm"}

	d.start()
	healthy := func() (string, error) {
		resp, err := http.Get("http://" + d.listen + "/-/healthy")
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	first, err := healthy()
	if err != nil || first == "" {
		t.Fatalf("on TCP: %q, %v", first, err)
	}
	for _, end := range []func(){func() { d.end(syscall.SIGTERM) }, func() { d.kill() }} {
		end()
		answer := make(chan string, 2)
		ask := func(get func() (string, error)) {
			text, err := get()
			answer <- text + message(err)
		}
		go ask(healthy)
		go ask(func() (string, error) { _, err := d.get("/-/healthy"); return first, err })
		d.start()
		for range 2 {
			if got := <-answer; got != first {
				t.Errorf("a request during the restart: got %q, want %q", got, first)
			}
		}
	}
	if log := d.log(4000); strings.Contains(log, "not configured") {
		t.Errorf("log: %s", log)
	}
}
