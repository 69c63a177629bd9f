package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"sm/alerts"
	"sm/cmd/sm/internal/config"
	"sm/observer"
	"sm/transcript/follow"
	"sm/transcript/transcripttest"
)

// TestGreeting tests that the greeting has three lines, one with the address, and counts all
// transcripts, including those read by an earlier observer.
func TestGreeting(t *testing.T) {
	t.Parallel()
	stats := &follow.Stats{}
	stats.Parked.Store(800)
	stats.Live.Store(12)
	addrs := []net.Addr{&net.UnixAddr{
		Name: "/r/sm.sock",
	}, &net.TCPAddr{
		IP:   net.IPv4(127, 0, 0, 1),
		Port: 8420,
	}}
	o := observer.Options{
		Clients: clientTable(nil, []string{"/home/u/.claude/projects"}, nil),
		Stats:   stats,
	}
	check := func(name, called, first string) {
		t.Helper()
		want := fmt.Sprintf(
			"%s\nhttp://127.0.0.1:8420 (or: %s open)\n%[2]s top in another terminal\n",
			first,
			called,
		)
		if diff := cmp.Diff(want, greeting(addrs, o, called)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	const home = "transcripts in /home/u/.claude/projects"
	check("one client", "sm", "Watching 812 "+home)
	codex := t.TempDir() // without an archive
	o.Clients[0].Dirs = []string{codex, codex + "/archived_sessions"}
	check("two clients", "bin/sm", "Watching 812 "+home+", "+codex)
	o.Stats = &follow.Stats{}
	check("no transcripts", "bin/sm", "Watching 0 "+home+", "+codex+"; --demo shows simulated agents")
	o.Demo = true
	check("a demo", "sm --socket /s", "Demo: all agents are simulated; Ctrl-C ends it")
	env := testEnv(nil)
	env.CalledAs = "bin/sm"
	for socket, want := range map[string]string{
		"/home/u/.local/state/sm/run/sm.sock": "bin/sm",
		"/s":                                  "bin/sm --socket /s",
	} {
		if got := env.called(socket); got != want {
			t.Errorf("%s: got %q, want %q", socket, got, want)
		}
	}
}

// TestRecent tests that the greeting ends with the costs of the last 30 days, and has no such
// line without compactions.
func TestRecent(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	all := regular(2, 3)
	transcripttest.Written(t, dir, all...)
	o := observer.Options{Clients: clientTable(nil, []string{dir}, nil)}
	o.Settings.Alerts = alerts.Defaults()
	for at, want := range map[time.Time]string{
		all[0].Now: "Last 30 days: 6 compactions; bin/sm report shows more\n",
		now:        "",
	} {
		var b strings.Builder
		printRecent(t.Context(), &b, o, at, "bin/sm")
		if got := b.String(); got != want {
			t.Errorf("at %v: %q, want %q", at, got, want)
		}
	}
}

// TestDemoPort tests that a demo takes a free port if another program has the default one.
func TestDemoPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	defer l.Close()
	cfg := config.Default()
	cfg.Listen = []string{l.Addr().String()}
	env := testEnv(map[string]string{"HOME": t.TempDir()})
	o, err := env.demoOptions(new(cobra.Command), cfg, t.TempDir())
	if want := []string{"127.0.0.1:0"}; err != nil || !slices.Equal(o.Listen, want) {
		t.Errorf("listens on %q, want %q, %v", o.Listen, want, err)
	}
}
