package install

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, []byte(text), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// TestSettingsFileChangedMeanwhile tests that a file that the client writes meanwhile is not
// overwritten.
func TestSettingsFileChangedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{}")
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, `{"theme":"dark"}`)
	if err := f.replace([]byte("{}")); !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != `{"theme":"dark"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSettingsOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change owners")
	}
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{}")
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Writable(); err == nil ||
		err.Error() != path+" belongs to another user; run sm as that user" {
		t.Errorf("error %v", err)
	}
}
