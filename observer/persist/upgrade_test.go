package persist

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/state"
	"sm/transcript/claude/hook"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestReleased tests that the state of each released version is read completely: files and
// sessions, agents, messages and reminders. The file of a release is made by its observer and
// never changes afterwards.
func TestReleased(t *testing.T) {
	files, err := filepath.Glob("../state/testdata/released/*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no released states: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var log bytes.Buffer
			store := released(t, file, slog.New(slog.NewTextHandler(&log, nil)))
			got := summary(t, store) + contents(t, store)
			if store.Dropped() != 0 || log.Len() > 0 {
				t.Errorf("%d records dropped; log: %s", store.Dropped(), &log)
			}
			golden := strings.TrimSuffix(file, ".db.gz") + ".golden"
			if *update {
				noErrors(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			noErrors(t, err)
			if diff := cmp.Diff(
				strings.Split(string(want), "\n"),
				strings.Split(got, "\n"),
			); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// released opens a copy of a released version's state.
func released(t *testing.T, file string, log *slog.Logger) *state.Store {
	t.Helper()
	f, err := os.Open(file)
	noErrors(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	noErrors(t, err)
	data, err := io.ReadAll(z)
	noErrors(t, err)
	dir := t.TempDir()
	noErrors(t, os.WriteFile(filepath.Join(dir, state.FileName), data, 0o600))
	store, err := state.Open(dir, log, time.Now())
	noErrors(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// summary lists the records, without the fields that later versions add.
func summary(t *testing.T, s *state.Store) string {
	t.Helper()
	stored, err := s.Load()
	noErrors(t, err)
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"created %s settled %v\n",
		stored.Created.UTC().Format("2006-01-02"),
		stored.Settled,
	)
	for _, f := range stored.Files {
		fmt.Fprintf(&b, "file %s read to %d\n", f.Cursor.Path, f.Cursor.Offset)
	}
	for _, r := range stored.Records {
		fmt.Fprintf(&b, "session %s of %s\n", r.SessionID, r.Agent)
	}
	fmt.Fprintf(&b, "%d claims, %d bytes read\n", len(stored.Claims), stored.Counters.Bytes)
	err = s.Values(func(v state.Value) error {
		fmt.Fprintf(&b, "value %q, %d bytes\n", v.Name, len(v.Data))
		return nil
	})
	noErrors(t, err)
	return b.String()
}

// contents lists the values.
func contents(t *testing.T, s *state.Store) string {
	t.Helper()
	k, err := Load(s)
	noErrors(t, err)
	var b strings.Builder
	for _, a := range k.Agents {
		fmt.Fprintf(&b, "agent %s\n", a.ID)
	}
	for _, m := range k.Messages {
		fmt.Fprintf(&b, "message to %s: %s\n", m.To, m.Text)
	}
	engine, err := json.Marshal(k.Engine)
	noErrors(t, err)
	fmt.Fprintf(
		&b,
		"a reminder to report: %v\n",
		strings.Contains(string(engine), `"report"`),
	)
	return b.String()
}

// TestAutoCompact tests that the settings of a client for compaction are kept with its agent
// across a restart, also with another version. The data is as stored by earlier versions.
func TestAutoCompact(t *testing.T) {
	const data = `"AutoCompact":{"Off":true,"Window":"150000","Percent":"80","Output":"9","Setting":180000,"IdleOff":true,"IdleMin":"7",` +
		`"Models":[{"Model":"claude-opus-4","Tokens":150000},{"Model":"opus","Tokens":0}]}`
	want := hook.AutoCompact{
		Off:     true,
		Window:  "150000",
		Percent: "80",
		Output:  "9",
		Setting: 180_000,
		Models:  hook.Models{"claude-opus-4": 150_000, "opus": 0},
		IdleOff: true,
		IdleMin: "7",
	}
	var k Persisted
	noErrors(t, k.read(state.Value{Name: agentValues + "web", Data: []byte("{" + data + "}")}))
	if diff := cmp.Diff(want, k.Agents[0].AutoCompact); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	var b Batch
	b.put("web", stored(&k.Agents[0]))
	if got := string(b.Values[0].Data); !strings.Contains(got, data) {
		t.Errorf("stored %s, want in it %s", got, data)
	}
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
