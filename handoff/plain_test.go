package handoff

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPlain: a copy that may be typed, ours alone, and gone a day later.
func TestPlain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "handoff")
	d := NewDocuments(dir, 0, nil)
	now := time.Now()
	path, err := d.Plain("ro-a", "Next: CI.", now)
	if err != nil || path != filepath.Join(dir, "sm-read-ro-a.md") {
		t.Fatalf("%q, %v", path, err)
	}
	text, err := os.ReadFile(path)
	info, odd := os.Lstat(path)
	if err != nil || odd != nil || string(text) != "Next: CI." || info.Mode() != 0o600 {
		t.Errorf("%q, %v, %v, %v", text, info.Mode(), err, odd)
	}
	if again, err := d.Plain("ro-a", "Anew.", now); err != nil || again != path {
		t.Errorf("again %q, %v", again, err)
	}
	mine := filepath.Join(dir, "web-w1.md")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, mine} {
		if err := os.Chtimes(name, now, now.Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Plain("ro-b", "x", now); err != nil {
		t.Fatal(err)
	}
	if err := d.SweepPlain(now); err != nil {
		t.Error(err)
	}
	list, _ := filepath.Glob(filepath.Join(dir, "*.md"))
	if len(list) != 2 || list[0] != filepath.Join(dir, "sm-read-ro-b.md") || list[1] != mine {
		t.Errorf("left: %q", list)
	}
	if _, err := NewDocuments(filepath.Join(t.TempDir(), "a(b)"), 0, nil).Plain(
		"ro-a",
		"x",
		now,
	); !errors.Is(
		err,
		ErrNotPlain,
	) {
		t.Error(err)
	}
	if err := NewDocuments(filepath.Join(t.TempDir(), "none"), 0, nil).SweepPlain(now); err != nil {
		t.Error(err)
	}
}
