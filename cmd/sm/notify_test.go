package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patient is a service that answers as long as the test lets it.
type patient struct {
	ready chan struct{}
	mu    sync.Mutex
	hangs bool
}

func (p *patient) Ready() <-chan struct{} { return p.ready }

func (p *patient) Answers(ctx context.Context) error {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (p *patient) hang(hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs = hangs
}

// TestNotifier: ready once and not before it is, a sign of life for each answer and for nothing else, and the end.
func TestNotifier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var said []string
		n := &notifier{watchdog: 20 * time.Second, log: slog.New(slog.DiscardHandler), tell: func(state string) error {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprint(time.Since(start), " ", state))
			return errors.New("nobody listens") // which changes nothing
		}}
		p := &patient{ready: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		end := n.run(ctx, p)
		time.Sleep(25 * time.Second) // of the bubble's time
		close(p.ready)
		time.Sleep(10 * time.Second)
		p.hang(true)
		time.Sleep(60 * time.Second)
		p.hang(false)
		time.Sleep(20 * time.Second)
		cancel()
		synctest.Wait()
		end()
		want := []string{
			"10s WATCHDOG=1", "20s WATCHDOG=1", "25s READY=1", "30s WATCHDOG=1",
			"1m40s WATCHDOG=1", "1m50s WATCHDOG=1", "1m55s STOPPING=1",
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestNotifierWithoutWatchdog: nobody waits for signs of life, and there are none.
func TestNotifierWithoutWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 10)
		n := &notifier{tell: func(state string) error { said <- state; return nil }}
		p := &patient{ready: make(chan struct{})}
		close(p.ready)
		end := n.run(t.Context(), p)
		time.Sleep(time.Hour)
		end()
		close(said)
		var got []string
		for state := range said {
			got = append(got, state)
		}
		if diff := cmp.Diff([]string{"READY=1"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestServiceManager: the program itself, told to notify as systemd does it.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	path := filepath.Join(d.dir, "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
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
			t.Fatal("it says nothing")
			return ""
		}
	}
	transcript := filepath.Join(d.projects, "p", "0d3e9ed6-5a1c-4d8c-9a39-000000000001.jsonl")
	if err := errors.Join(os.Mkdir(filepath.Dir(transcript), 0o700), os.WriteFile(transcript, []byte(strings.Repeat("{}\n", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.vars = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=200000"}
	d.launch()
	for state := next(); state != "READY=1"; state = next() {
		if state != "WATCHDOG=1" {
			t.Fatalf("before it is ready it says %q", state)
		}
	}
	if _, err := d.get("/-/ready"); err != nil {
		t.Errorf("it says that it is ready: %v", err)
	}
	for range 3 {
		if state := next(); state != "WATCHDOG=1" {
			t.Errorf("%q", state)
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
		t.Errorf("at the end it says %q, and %d more", state, len(said))
	}
}
