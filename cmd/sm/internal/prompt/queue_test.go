package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/observer/fleet"
	"sm/transcript/clients/clientstest"
)

// TestEnqueue tests that the text goes to the client of the folder with the thread's
// transcript, and to none for other folders.
func TestEnqueue(t *testing.T) {
	const id = "01990a5d-ac96-774b-bcce-b302099a8057"
	home := t.TempDir()
	program := filepath.Join(home, "codex")
	if err := os.WriteFile(
		program,
		[]byte("#!/bin/sh\necho \"$@\" >\"$CODEX_HOME/argv\"\n"),
		0o700,
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", home)
	q := Queue{clientstest.Table()}
	path := filepath.Join(
		home,
		"sessions/2026/01/02/rollout-2026-01-02T03-04-05-"+id+".jsonl",
	)
	for name, to := range map[string]fleet.Thread{
		"another name":   {ID: id, Path: filepath.Join(home, "notes.jsonl")},
		"another thread": {ID: strings.Replace(id, "01", "02", 1), Path: path},
		"no year":        {ID: id, Path: filepath.Join(home, filepath.Base(path))},
	} {
		if placed, err := q.Enqueue(
			t.Context(),
			to,
			"m1",
			"hello",
		); placed || err == nil ||
			!strings.Contains(err.Error(), "its queue is unknown") {
			t.Errorf("%s: %t, %v", name, placed, err)
		}
	}
	if placed, err := q.Enqueue(t.Context(), fleet.Thread{
		ID:   id,
		Path: path,
	}, "m1", "hello"); !placed || err != nil {
		t.Fatal(placed, err)
	}
	got, err := os.ReadFile(filepath.Join(home, "argv"))
	if want := "queue --thread " + id + " --message hello\n"; string(got) != want ||
		err != nil {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
}
