package main

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer"
	"sm/transcript/follow"
)

// TestGreeting: three lines, and one is the address.
func TestGreeting(t *testing.T) {
	t.Parallel()
	greeting := testEnv(nil).greeting
	stats := &follow.Stats{}
	stats.Files.Store(812)
	addrs := []net.Addr{&net.UnixAddr{
		Name: "/r/sm.sock",
	}, &net.TCPAddr{
		IP:   net.IPv4(127, 0, 0, 1),
		Port: 8420,
	}}
	o := observer.Options{
		Clients: clientTable(nil, []string{"/home/u/.claude/projects"}, nil),
		Stats:   stats,
		Socket:  "/tmp/x/sm.sock",
	}
	want := "Watching 812 transcripts in /home/u/.claude/projects\nhttp://127.0.0.1:8420 (or: sm open)\nsm top in another terminal\n"
	if diff := cmp.Diff(want, greeting(addrs, o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	codex := t.TempDir() // the archive is not there
	o.Clients[0].Dirs = []string{codex, codex + "/archived_sessions"}
	if got, want := greeting(
		addrs,
		o,
	), "Watching 812 transcripts in /home/u/.claude/projects, "+codex+"\n"; !strings.HasPrefix(
		got,
		want,
	) {
		t.Errorf("with another client: %q, want %q first", got, want)
	}
	o.Stats = &follow.Stats{}
	if got, want := greeting(
		addrs,
		o,
	), "Watching 0 transcripts in /home/u/.claude/projects, "+codex+"; sm observe --demo shows simulated agents\n"; !strings.HasPrefix(
		got,
		want,
	) {
		t.Errorf("with nothing to watch: %q, want %q first", got, want)
	}
	o.Demo = true
	want = "Demo: all agents are simulated; Ctrl-C ends it\n" +
		"http://127.0.0.1:8420 (or: sm open --socket /tmp/x/sm.sock)\nsm top --socket /tmp/x/sm.sock in another terminal\n"
	if diff := cmp.Diff(want, greeting(addrs, o)); diff != "" {
		t.Errorf("a demo (-want +got):\n%s", diff)
	}
	o.Socket = "/home/u/.local/state/sm/run/sm.sock"
	if got := greeting(addrs, o); strings.Contains(got, "--socket") {
		t.Errorf("a demo at the usual socket: %s", got)
	}
}
