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
)

// TestWrite tests that files of others go, that a reader of the old file keeps the old
// line, and that a link in the place of a file is replaced and not followed.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "levels")
	log := slog.New(slog.DiscardHandler)
	Write(dir, map[string]string{"a": "ok:1:1000", "b": "ok::", "c": "ok::"}, false, log)
	reader, err := os.Open(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	target := filepath.Join(t.TempDir(), "target")
	err = errors.Join(
		os.WriteFile(target, []byte("kept"), 0o600),
		os.Remove(filepath.Join(dir, "b")),
		os.Symlink(target, filepath.Join(dir, "b")),
	)
	if err != nil {
		t.Fatal(err)
	}
	Write(dir, map[string]string{"a": "early_warn:40:80000", "b": "ok:3:6000"}, true, log)
	Write(dir, map[string]string{"a": "warn:52:104000", "b": "ok:2:4000", "d": ""}, true, log)
	got := map[string]string{}
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		got[e.Name()] = string(b)
	}
	want := map[string]string{"a": "warn:52:104000\n", "b": "ok:2:4000\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	old, _ := io.ReadAll(reader)
	kept, _ := os.ReadFile(target)
	if string(old) != "ok:1:1000\n" || string(kept) != "kept" {
		t.Errorf("the open file has %q, the target %q", old, kept)
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
