package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// systemCalls returns the calls of a group of systemd, with those of groups inside it.
func systemCalls(t *testing.T, group string) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(
		t.Context(),
		"systemd-analyze",
		"--no-pager",
		"syscall-filter",
		group,
	).Output()
	noErrors(t, err)
	all := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, " ") || strings.HasPrefix(name, "#"):
		case strings.HasPrefix(name, "@"):
			for call := range systemCalls(t, name) {
				all[call] = true
			}
		default:
			all[name] = true
		}
	}
	return all
}

// TestServiceLetsTheObserverWork tests that the shipped unit allows all system calls of an
// observer while it starts, reads, serves, looks for tmux and ends.
func TestServiceLetsTheObserverWork(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"strace", "systemd-analyze", "tmux"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	unit := readFile(t, "../../deploy/systemd/sm.service")
	settings := map[string]string{}
	for line := range strings.Lines(string(unit)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	allowed := systemCalls(t, settings["SystemCallFilter"])
	if !allowed["read"] || allowed["reboot"] {
		t.Fatalf(
			"the filter %q allows %d system calls",
			settings["SystemCallFilter"],
			len(allowed),
		)
	}

	d := newDaemon(t)
	trace := filepath.Join(d.dir, "trace")
	d.as = []string{"strace", "-D", "-f", "-qq", "-o", trace, "sm"}
	d.start()
	const id = "0d3e9ed6-5a1c-4d8c-9a39-000000000001"
	record := `{"type":"assistant","uuid":"u1","timestamp":"2026-06-01T10:00:00Z","message":{"id":"m1","model":"claude-haiku-4-5","usage":{"input_tokens":50000,"output_tokens":1}}}` + "\n"
	writeFile(t, filepath.Join(d.projects, "p", id+".jsonl"), []byte(record))
	d.eventually("the transcript is read", func() string {
		_, err := d.get("/sessions/" + id)
		return message(err)
	})
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var text []byte
	d.eventually("strace has written all", func() string {
		var err error
		if text, err = os.ReadFile(trace); err == nil &&
			!strings.Contains(string(text), "exit_group(0") {
			return "no exit"
		}
		return message(err)
	})
	used := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(line, " ")
		name, args, ok := strings.Cut(strings.TrimSpace(call), "(")
		if !ok || strings.ContainsAny(name, " <+-") ||
			name == "???" { // strace attached too late
			continue
		}
		used[name] = true
		if family, _, _ := strings.Cut(
			args,
			",",
		); name == "socket" &&
			!strings.Contains(settings["RestrictAddressFamilies"]+" ", family+" ") {
			t.Errorf("a socket of %s", family)
		}
	}
	if !used["read"] || !used["socket"] || len(used) < 20 {
		t.Fatalf("strace saw %v", used)
	}
	for name := range used {
		if !allowed[name] {
			t.Errorf("%s is not allowed", name)
		}
	}
}
