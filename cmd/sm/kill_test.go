package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// kills is how often the observer is killed, by default.
const kills = 100

// stored waits until the state file is written to, or for the timeout.
func (d *daemon) stored(timeout <-chan time.Time) {
	path := filepath.Join(d.state(), "state.db")
	before, err := os.Stat(path)
	if err != nil {
		d.t.Fatal(err)
	}
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-timeout:
			return
		case <-tick.C:
			if now, err := os.Stat(path); err == nil && now.ModTime() != before.ModTime() {
				return
			}
		}
	}
}

var unexported = cmpopts.IgnoreUnexported(tally{})

// TestKills: a kill at any point only repeats reading. An observer is killed again and
// again while transcripts grow, at first while it reads history, and in the end has the
// figures of a single reading of the files. SM_KILLS is the number of kills.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	n := kills
	if s := os.Getenv("SM_KILLS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		n /= 5
	}
	d := newDaemon(t)
	d.vars = []string{"SM_METRICS_MAX_SESSIONS=10000", "SM_METRICS_SESSION_TTL=1000h"}
	a := newAgents(t, d.projects, rand.Uint64())
	a.history(10_000)
	since := time.Now()
	d.launch()
	d.eventually("the state is there", func() string {
		_, err := d.get("/-/healthy")
		return message(err)
	})
	a.run()
	for i := range n {
		switch i % 4 {
		case 0: // in the middle of a transaction, or right after it
			d.stored(time.After(time.Second))
			<-time.After(rand.N(4 * time.Millisecond))
		case 1:
			<-time.After(rand.N(400 * time.Millisecond))
		default:
			<-time.After(rand.N(80 * time.Millisecond))
		}
		if i%10 == 9 {
			signal := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[i/10%2]
			if code := d.end(signal); code > 0 { // below 0: it had not begun to listen to signals
				t.Fatalf("kill %d: exit code %d after %v", i, code, signal)
			}
		} else if !d.kill() {
			t.Fatalf("kill %d: it had ended by itself", i)
		}
		d.launch()
	}
	a.finish()
	want := a.tally(since)
	d.eventually("all read", func() string {
		if _, err := d.get("/-/ready"); err != nil {
			return err.Error()
		}
		return cmp.Diff(want, d.tally(), unexported)
	})
	misplaced := 0
	named := 0
	for id, own := range d.tally().own {
		if own != want.own[id] {
			misplaced++
			if a.named[id] {
				named++
			}
		}
	}
	t.Logf("%d kills, %d writes into %d files, %d forks; the compactions of %d sessions stand with a copy or an origin of theirs, which %d of them name",
		n, a.writes, len(a.files), a.forks, misplaced, named)
	if log := d.log(1 << 20); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Errorf("its log:\n%s", log)
	}
	// Nothing is read twice when all has been stored.
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	d.start()
	if diff := cmp.Diff(want, d.tally(), unexported); diff != "" {
		t.Errorf("after an orderly restart (-want +got):\n%s", diff)
	}
}
