//go:build realclient

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// buildProgram compiles the program under test.
func buildProgram(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "sm")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(
		ctx,
		"go",
		"build",
		"-o",
		program,
		".",
	).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// watched is an observer of this home that is to be started, of a program that was compiled.
func (h *clientHome) watched(program string, vars ...string) *daemon {
	h.t.Helper()
	d := newDaemon(h.t)
	d.bin = program
	d.projects = h.projects
	d.vars = vars
	return d
}

// stop ends the observer in order.
func (d *daemon) stop() {
	d.t.Helper()
	if code := d.end(syscall.SIGTERM); code != 0 {
		d.t.Errorf("the observer ends with code %d", code)
	}
}

// called waits until the client has called so many hooks of an event.
func (d *daemon) called(event string, times float64) {
	d.t.Helper()
	series := fmt.Sprintf("sm_hook_events_total{event=%q}", event)
	eventually(d.t, event+" is called", func() string {
		if n := d.series()[series]; n < times {
			return fmt.Sprintf("%v times, want %v", n, times)
		}
		return ""
	})
}

// lasting is what must be the same after a restart: all that is about sessions
// and all that was counted, but for the time of the last activity, which lines
// that mean nothing move as well, and the state, which the client may change
// meanwhile.
func (d *daemon) lasting() map[string]float64 {
	all := d.series()
	maps.DeleteFunc(all, func(series string, _ float64) bool {
		return !strings.HasPrefix(series, "agent_") ||
			strings.HasPrefix(series, "agent_session_last_activity") ||
			strings.HasPrefix(series, "agent_session_state{")
	})
	return all
}

// byID asks as `sm status --json` does, by session id.
func (d *daemon) byID() map[string]api.Session {
	d.t.Helper()
	all := map[string]api.Session{}
	for _, s := range d.sessions() {
		all[s.SessionID] = s
	}
	return all
}

// scan runs `sm scan --json` over the same transcripts, by session id, without
// the figures that an observer has only as sums.
func (d *daemon) scan() map[string]scanned {
	d.t.Helper()
	cmd := d.command("scan", "--json", d.projects)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil || errOut.Len() > 0 {
		d.t.Fatalf("sm scan: %v, and prints %q", err, &errOut)
	}
	all := map[string]scanned{}
	for j := json.NewDecoder(bytes.NewReader(out)); j.More(); {
		var s scanned
		if err := j.Decode(&s); err != nil {
			d.t.Fatal(err)
		}
		s.Bytes = 0
		s.Lines = 0
		s.BadLines = 0
		all[s.SessionID] = s
	}
	return all
}
