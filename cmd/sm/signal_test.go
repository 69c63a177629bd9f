package main

import (
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSignalAtStart tests that a signal during the start of the observer ends it.
func TestSignalAtStart(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for i := range 20 {
		d.launch()
		<-time.After(rand.N(40 * time.Millisecond))
		if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it did not handle signals yet
			t.Fatalf("start %d: exit code %d", i, code)
		}
	}
	d.start()
	left, err := filepath.Glob(filepath.Join(d.state(), "*aside*"))
	if err != nil || len(left) > 0 {
		t.Errorf("state was set aside: %v, %v", left, err)
	}
}
