package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDirectoryLayouts(t *testing.T) {
	mkdir := func(mode fs.FileMode) func(string) error {
		return func(d string) error {
			return errors.Join(
				os.MkdirAll(d, 0o700),
				os.Chmod(d, mode),
			)
		}
	}
	within := func(name string, make func(path string) error) func(string) error {
		return func(d string) error {
			return errors.Join(
				os.MkdirAll(d, 0o700),
				make(filepath.Join(d, name)),
			)
		}
	}
	fifo := func(p string) error { return syscall.Mkfifo(p, 0o600) }
	link := func(p string) error { return os.Symlink("elsewhere", p) }
	for _, c := range []struct {
		name   string
		layout func(dir string) error
		want   string // part of the error, which ends with the remedy; "" for none
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"private", mkdir(0o700), ""},
		{"readable", mkdir(0o755), ""},
		{
			"group-writable",
			mkdir(0o770),
			"can be written by others (mode 0770); run chmod 700",
		},
		{
			"world-writable",
			mkdir(0o702),
			"can be written by others (mode 0702)",
		},
		{
			"sticky",
			mkdir(fs.ModeSticky | 0o777),
			"can be written by others (mode 0777)",
		},
		{
			"symbolic link", func(d string) error {
				return errors.Join(
					os.Mkdir(d+".real", 0o700),
					os.Symlink(d+".real", d),
				)
			},
			"is a symbolic link",
		},
		{
			"dangling link",
			func(d string) error { return os.Symlink(d+".real", d) },
			"is a symbolic link",
		},
		{
			"file",
			func(d string) error { return os.WriteFile(d, nil, 0o600) },
			"is not a directory",
		},
		{
			"below a file",
			func(d string) error { return os.WriteFile(filepath.Dir(d), nil, 0o600) },
			"not a directory",
		},
		{
			"FIFO for a lock",
			within(lockName, fifo),
			"lock is not a regular file",
		},
		{
			"linked lock",
			within(lockName, link),
			"lock is not a regular file",
		},
		{
			"FIFO for a file",
			within(FileName, fifo),
			"state.db is not a regular file",
		},
		{
			"linked file",
			within(FileName, link),
			"state.db is not a regular file",
		},
		{
			"directory for a file", within(
				FileName,
				func(p string) error { return os.Mkdir(p, 0o700) },
			),
			"state.db is not a regular file",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "state")
			if c.name != "below a file" && c.name != "nothing" {
				noErrors(t, os.Mkdir(parent, 0o700))
			}
			dir := filepath.Join(parent, "sm")
			noErrors(t, c.layout(dir))
			testOpenError(t, dir, c.want)
		})
	}
}

func testOpenError(t *testing.T, dir, want string) {
	t.Helper()
	s, err := Open(dir, quiet(), testNow())
	if err == nil {
		s.Close()
	}
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want none", err)
	case want != "" &&
		(err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), " with --state")):
		t.Errorf("got  %v\nwant …%s… with --state", err, want)
	}
}

func TestForeignDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to change owners")
	}
	dir := t.TempDir()
	noErrors(t, os.Chown(dir, 12345, -1))
	testOpenError(t, dir, "belongs to another user")
}

// TestFileIsPrivate tests that a file that others may read, as from a backup, is made private
// again.
func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir).Close()
	path := filepath.Join(dir, FileName)
	noErrors(t, os.Chmod(path, 0o644))
	mustOpen(t, dir)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
