package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServiceManager tests that the program notifies its service manager as systemd expects.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	path := filepath.Join(d.dir, "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	noErrors(t, err)
	defer l.Close()
	said := make(chan string, 1000)
	go func() {
		defer close(said)
		for b := make([]byte, 256); ; {
			n, err := l.Read(b)
			if err != nil {
				return // closed
			}
			said <- string(b[:n])
		}
	}()
	next := func() string {
		t.Helper()
		select {
		case state := <-said:
			return state
		case <-time.After(2 * time.Minute):
			t.Fatal("no notification")
			return ""
		}
	}
	transcript := filepath.Join(d.projects, "p", "0d3e9ed6-5a1c-4d8c-9a39-000000000001.jsonl")
	writeFile(t, transcript, []byte(strings.Repeat("{}\n", 1000)))
	d.vars = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=200000"}
	d.launch()
	for state := next(); state != "READY=1"; state = next() {
		if state != "WATCHDOG=1" {
			t.Fatalf("before it is ready: got %q", state)
		}
	}
	if _, err := d.get("/-/ready"); err != nil {
		t.Errorf("ready too early: %v", err)
	}
	for range 3 {
		if state := next(); state != "WATCHDOG=1" {
			t.Errorf("got %q", state)
		}
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	state := next()
	for state == "WATCHDOG=1" {
		state = next()
	}
	if state != "STOPPING=1" || len(said) > 0 {
		t.Errorf("at the end: got %q, and %d more", state, len(said))
	}
}
