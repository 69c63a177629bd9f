package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSecondObserver: one state directory has one observer, and the second one names
// the first.
func TestSecondObserver(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	second := func() (string, int) {
		cmd := d.command(
			"observe",
			"--projects",
			d.projects,
			"--state",
			d.state(),
			"--listen",
			"127.0.0.1:0",
			"--socket",
			d.socket()+"2",
		)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run() // the code tells
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	text, code := second()
	want := fmt.Sprintf(
		"sm: state directory %s is in use by the observer with pid %d; stop it, or choose another with --state\n",
		d.state(),
		d.cmd.Process.Pid,
	)
	if code != exitFailed || text != want {
		t.Errorf("exit code %d, %q; want %d, %q", code, text, exitFailed, want)
	}
	if _, err := d.get("/-/ready"); err != nil {
		t.Errorf("the first one: %v", err)
	}
	if _, err := os.Stat(d.socket() + "2"); err == nil {
		t.Error("the second one has left a socket")
	}
	d.kill() // the files of a dead one do not matter
	d.start()
}

// TestSignals guards that an observer stops when it is asked to, with exit code 0,
// and that the next one reads only what is new.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			a := newAgents(t, d.projects, 1)
			a.history(500)
			since := time.Now()
			d.start()
			a.run()
			for range 3 {
				<-time.After(50 * time.Millisecond)
				if code := d.end(signal); code != 0 {
					t.Fatalf("exit code %d", code)
				}
				if _, err := os.Lstat(d.socket()); err == nil {
					t.Error("it has left its socket")
				}
				d.start()
			}
			a.finish()
			want := a.tally(since)
			var got tally
			d.eventually("all read", func() string {
				got = d.tally()
				return cmp.Diff(want, got, unexported)
			})
			for range 3 {
				if code := d.end(signal); code != 0 {
					t.Fatalf("exit code %d", code)
				}
				d.start()
				if diff := cmp.Diff(got, d.tally(), cmp.AllowUnexported(tally{})); diff != "" {
					t.Errorf("after a restart (-want +got):\n%s", diff)
				}
			}
			log := strings.TrimSpace(d.log(1 << 20))
			if last := log[strings.LastIndex(
				log,
				`msg="caught up"`,
			):]; !strings.HasPrefix(
				last,
				`msg="caught up" files=0 bytes=0`,
			) {
				t.Errorf("a restart reads what it has read: %s", last)
			}
			if strings.Contains(log, "level=ERROR") {
				t.Errorf("its log:\n%s", log)
			}
		})
	}
}

// A signal that comes while the observer starts is obeyed like any other.
func TestSignalAtStart(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for i := range 40 {
		d.launch()
		<-time.After(rand.N(40 * time.Millisecond))
		if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it had not begun to listen to signals
			t.Fatalf("start %d: exit code %d", i, code)
		}
	}
	d.start()
	left, err := filepath.Glob(filepath.Join(d.state(), "*aside*"))
	if err != nil || len(left) > 0 {
		t.Errorf("state was set aside: %v, %v", left, err)
	}
}
