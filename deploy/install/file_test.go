package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sm/handoff/proc"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// The client writes its settings too, at any moment.
func TestSettingsFileChangedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{}")
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, `{"theme":"dark"}`)
	if err := f.write([]byte("{}")); !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != `{"theme":"dark"}` {
		t.Errorf("it became %s, %v", got, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSettingsOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
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
	if err := f.Writable(); err == nil || err.Error() != path+" belongs to uid 12345; run sm as that user" {
		t.Errorf("error %v", err)
	}
}

// TestSweep: only what bears our name, is a file of this user and belongs to no process that runs is removed.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const deadPID = 1 << 30 // larger than any process's
	self, _ := proc.Stat("/proc", os.Getpid())
	own := fmt.Sprintf("%d-%s-1", os.Getpid(), self.Start)
	gone := []string{
		tempFile + fmt.Sprint(deadPID) + "-7-123",
		tempFile + fmt.Sprintf("%d-1-123", os.Getpid()),
		tempFile + "123",
	}
	stays := []string{
		tempFile + own,
		tempFile + "124",
		tempFile + "x-1-1",
		tempFile,
		"settings.json",
		".settings.json",
		".settings.json.swp",
		tempFolder + fmt.Sprint(deadPID) + "-7-1",
	}
	if self.Start == "" { // there is the pid alone
		gone, stays = gone[:1], append(stays, gone[1])
	}
	for _, name := range append(append([]string{}, gone...), stays...) {
		put(t, dir+"/"+name, "x")
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(dir+"/"+tempFile+"123", old, old); err != nil {
		t.Fatal(err)
	}
	link := dir + "/" + tempFile + fmt.Sprint(deadPID) + "-7-link"
	if err := os.Symlink("/bin/sh", link); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/"+tempFile+fmt.Sprint(deadPID)+"-7-dir/x", "x")
	stays = append(stays, filepath.Base(link), tempFile+fmt.Sprint(deadPID)+"-7-dir")
	sweep(dir, tempFile)
	for _, name := range gone {
		if _, err := os.Lstat(dir + "/" + name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for _, name := range stays {
		if _, err := os.Lstat(dir + "/" + name); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}
