package levels

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// TestChanges: the newest level of each agent is written, and files of others go.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, agent := range []string{"a", "b", "c"} {
		if err := Write(dir, agent, "ok:1:2000"); err != nil {
			t.Fatal(err)
		}
	}
	var c Changes
	c.Set(alerts.SetLevel{Agent: "d", Known: true})
	c.Set(alerts.SetLevel{
		Agent:   "d",
		Known:   true,
		Percent: 2,
		Tokens:  4000,
	})
	c.Remove("b")
	c.Keep(map[string]bool{"a": true, "b": true})
	c.Write(dir, slog.New(slog.DiscardHandler))
	got := map[string]string{}
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		got[e.Name()] = string(b)
	}
	if d := cmp.Diff(
		map[string]string{"a": "ok:1:2000\n", "d": "ok:2:4000\n"},
		got,
	); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// TestWriteReplaces checks that a reader of the old file keeps the old line, and
// that a link in the place of the file is replaced and not followed.
func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "levels")
	path := filepath.Join(dir, "a")
	if err := Write(dir, "a", "ok:1:1000"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Write(dir, "a", "warn:52:104000"); err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(reader)
	if err != nil || string(old) != "ok:1:1000\n" {
		t.Errorf("the open file has %q: %v", old, err)
	}

	target := filepath.Join(t.TempDir(), "target")
	err = errors.Join(
		os.WriteFile(target, []byte("kept"), 0o600),
		os.Remove(path),
		os.Symlink(target, path),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "a", "ok::"); err != nil {
		t.Fatal(err)
	}
	kept, _ := os.ReadFile(target)
	line, _ := os.ReadFile(path)
	if string(kept) != "kept" || string(line) != "ok::\n" {
		t.Errorf("the target has %q, the file %q", kept, line)
	}
}

// TestNames tests that each agent has a file of its own in the folder.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, agent := range []string{
		"..", ".", "../../em", "/etc/passwd", "a/b", "a%2Fb", ".hidden", "%2E", "-rf", "em", "em.new", ".em.new", "ü",
		strings.Repeat("x", 128), strings.Repeat("ü", 64), strings.Repeat("ü", 63) + "u",
	} {
		name := Name(agent)
		if other, taken := seen[name]; taken || name != filepath.Base(name) ||
			strings.HasPrefix(name, ".") ||
			len(name) > 255 {
			t.Errorf("%q has the file %q; another one is %q", agent, name, other)
		}
		seen[name] = agent
	}
}
