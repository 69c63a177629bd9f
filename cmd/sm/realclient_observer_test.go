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

// watched returns an observer of this home that is not started yet, of a compiled program.
func (h *clientHome) watched(program string, vars ...string) *daemon {
	h.t.Helper()
	d := newDaemon(h.t)
	d.bin = program
	d.projects = h.projects
	d.vars = vars
	return d
}

// stop ends the observer regularly.
func (d *daemon) stop() {
	d.t.Helper()
	if code := d.end(syscall.SIGTERM); code != 0 {
		d.t.Errorf("the observer ends with code %d", code)
	}
}

// called waits until the client has called this many hooks of an event.
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

// lasting returns the metrics that a restart must not change: those of sessions and counters,
// except the time of the last activity, which lines without meaning change too, and the
// state, which the client may change meanwhile.
func (d *daemon) lasting() map[string]float64 {
	all := d.series()
	maps.DeleteFunc(all, func(series string, _ float64) bool {
		return !strings.HasPrefix(series, "agent_") ||
			strings.HasPrefix(series, "agent_session_last_activity") ||
			strings.HasPrefix(series, "agent_session_state{")
	})
	return all
}

// byID returns the sessions of `sm status --json` by session id.
func (d *daemon) byID() map[string]api.Session {
	d.t.Helper()
	all := map[string]api.Session{}
	for _, s := range d.sessions() {
		all[s.SessionID] = s
	}
	return all
}

// scan runs `sm scan --json` over the same transcripts and returns its lines by session id,
// without the figures that an observer has only as sums.
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
		noErrors(d.t, j.Decode(&s))
		s.Bytes = 0
		s.Lines = 0
		s.BadLines = 0
		all[s.SessionID] = s
	}
	return all
}
