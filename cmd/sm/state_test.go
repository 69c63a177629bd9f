package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStateMoves: an observer with an imported state has that of the exporting one, and export and import refuse while an
// observer runs.
func TestStateMoves(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	const id = "0d3e9ed6-5a1c-4d8c-9a39-000000000007"
	record := `{"type":"assistant","uuid":"u1","timestamp":"2026-06-01T10:00:00Z","message":{"id":"m1","model":"claude-haiku-4-5","usage":{"input_tokens":50000,"output_tokens":1}}}` + "\n"
	if err := os.MkdirAll(filepath.Join(d.projects, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.projects, "p", id+".jsonl"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(d.dir, "state.jsonl")
	sm := func(args ...string) (string, error) {
		out, err := d.command(append([]string{"state"}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := sm(
		"export",
		file,
		"--state",
		d.state(),
	); err == nil ||
		!strings.Contains(out, "no observer has run there") {
		t.Errorf("without a state: %v, %s", err, out)
	}
	d.start()
	if out, err := sm("export", file, "--state", d.state()); err == nil || !strings.Contains(out, "stop it") {
		t.Errorf("under an observer: %v, %s", err, out)
	}
	want, err := d.get("/sessions/" + id)
	if err != nil {
		t.Fatal(err)
	}
	d.end(syscall.SIGTERM)
	_ = os.Remove(file)
	if out, err := sm("export", file, "--state", d.state()); err != nil || !strings.HasSuffix(out, " records\n") {
		t.Fatalf("export: %v, %s", err, out)
	}
	if out, err := sm("export", file, "--state", d.state()); err == nil {
		t.Errorf("a file that exists is written over: %s", out)
	}
	if out, err := sm("import", file, "--state", d.state()); err == nil || !strings.Contains(out, "exists") {
		t.Errorf("over a state: %v, %s", err, out)
	}
	if err := os.RemoveAll(d.state()); err != nil {
		t.Fatal(err)
	}
	if out, err := sm("import", file, "--state", d.state()); err != nil {
		t.Fatalf("import: %v, %s", err, out)
	}
	d.start()
	got, err := d.get("/sessions/" + id)
	if err != nil || got != want {
		t.Errorf("after the move: %v\n%s\nbefore:\n%s", err, got, want)
	}
	if log := d.log(1 << 16); strings.Count(log, `msg="caught up"`) != 2 || strings.Count(log, " bytes=0\n") != 1 {
		t.Errorf("it read the transcript again: %s", log)
	}
}
