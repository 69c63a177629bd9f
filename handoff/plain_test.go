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
	noError(t, err)
	info, err := os.Lstat(path)
	noError(t, err)
	if string(text) != "Next: CI." || info.Mode() != 0o600 {
		t.Errorf("%q, %v", text, info.Mode())
	}
	mine := filepath.Join(dir, "web-w1.md")
	write(t, mine, "")
	for _, name := range []string{path, mine} {
		noError(t, os.Chtimes(name, now, now.Add(-25*time.Hour)))
	}
	_, err = d.Plain("ro-b", "x", now)
	noError(t, err)
	noError(t, d.SweepPlain(now))
	list, _ := filepath.Glob(filepath.Join(dir, "*.md"))
	if len(list) != 2 || list[0] != filepath.Join(dir, "sm-read-ro-b.md") || list[1] != mine {
		t.Errorf("left: %q", list)
	}
	odd := NewDocuments(filepath.Join(t.TempDir(), "a(b)"), 0, nil)
	if _, err := odd.Plain("ro-a", "x", now); !errors.Is(err, ErrNotPlain) {
		t.Error(err)
	}
}
