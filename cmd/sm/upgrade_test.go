package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpgrade tests that an observer of this version takes over what each released version
// stored: it knows each record, including agents, messages and reminders. The records have
// expired by now, and the transcripts of that fleet are gone.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	states, err := filepath.Glob("../../observer/state/testdata/released/*.db.gz")
	if err != nil || len(states) == 0 {
		t.Fatalf("no released states: %v", err)
	}
	for _, file := range states {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			f, err := os.Open(file)
			noErrors(t, err)
			defer f.Close()
			z, err := gzip.NewReader(f)
			noErrors(t, err)
			data, err := io.ReadAll(z)
			noErrors(t, err)
			noErrors(t, os.Mkdir(d.state(), 0o700))
			noErrors(t, os.WriteFile(
				filepath.Join(d.state(), "state.db"),
				data,
				0o600,
			))
			d.start()
			for _, word := range []string{"level=ERROR", "damaged", "dropped", "cannot"} {
				if log := d.log(1 << 20); strings.Contains(log, word) {
					t.Errorf("the log contains %q:\n%s", word, log)
				}
			}
		})
	}
}
