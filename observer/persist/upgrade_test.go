package persist

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/state"
)

// TestReleased: agents, messages and reminders that a released version stored are what this version loads.
func TestReleased(t *testing.T) {
	states, err := filepath.Glob("../state/testdata/released/*.db.gz")
	if err != nil || len(states) == 0 {
		t.Fatalf("no released states: %v", err)
	}
	for _, file := range states {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, state.FileName), data, 0o600); err != nil {
				t.Fatal(err)
			}
			store, err := state.Open(dir, slog.New(slog.DiscardHandler), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			k, err := Load(store)
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string]bool{}
			for _, m := range k.Messages {
				texts[m.Text] = true
			}
			if !texts["look at the failing test"] || !texts["stop and read this"] {
				t.Errorf("messages: %v", texts)
			}
			ids := map[string]bool{}
			for _, a := range k.Agents {
				ids[a.ID] = true
			}
			if !ids["worker"] || len(ids) < 2 {
				t.Errorf("agents: %v", ids)
			}
			engine, err := json.Marshal(k.Engine)
			if err != nil || !strings.Contains(string(engine), `"report"`) {
				t.Errorf("no reminder in the engine's state: %v %s", err, engine)
			}
		})
	}
}
