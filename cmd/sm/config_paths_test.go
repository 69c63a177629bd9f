package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/observer/api"
)

// privateTemp is a folder of mode 0700 with a path that leaves room for the name of a socket; t.TempDir has
// neither.
func privateTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestRuntimeDir: observer and clients look into the same XDG_RUNTIME_DIR, or neither does.
func TestRuntimeDir(t *testing.T) {
	t.Parallel()
	const stranger = 65534
	folder := func(t *testing.T, path string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, path, target string, owner int) {
		t.Helper()
		err := os.Symlink(target, path)
		if owner >= 0 {
			err = errors.Join(err, os.Lchown(path, owner, owner))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir string) (runtime string)
		root bool // only root can make it
		want bool
	}{
		{
			name: "ours",
			want: true,
			make: func(t *testing.T, dir string) string { folder(t, dir+"/r", 0o700); return dir + "/r" },
		},
		{name: "own link", want: true, make: func(t *testing.T, dir string) string {
			folder(t, dir+"/r", 0o700)
			link(t, dir+"/l", "r", -1)
			return dir + "/l"
		}},
		{name: "not there", make: func(_ *testing.T, dir string) string { return dir + "/r" }},
		{
			name: "open to the group",
			make: func(t *testing.T, dir string) string { folder(t, dir+"/r", 0o750); return dir + "/r" },
		},
		{
			name: "open to others",
			make: func(t *testing.T, dir string) string { folder(t, dir+"/r", 0o1777); return dir + "/r" },
		},
		{name: "too long", make: func(t *testing.T, dir string) string {
			dir += "/" + strings.Repeat("x", api.MaxSocketPath)
			folder(t, dir, 0o700)
			return dir
		}},
		{name: "a stranger's", root: true, make: func(t *testing.T, dir string) string {
			folder(t, dir+"/r", 0o700)
			if err := os.Chown(dir+"/r", stranger, stranger); err != nil {
				t.Fatal(err)
			}
			return dir + "/r"
		}},
		{name: "a stranger's link to ours", root: true, make: func(t *testing.T, dir string) string {
			folder(t, dir+"/r", 0o700)
			link(t, dir+"/l", "r", stranger)
			return dir + "/l"
		}},
		{name: "a stranger's link on the way", root: true, make: func(t *testing.T, dir string) string {
			folder(t, dir+"/d", 0o755)
			folder(t, dir+"/d/r", 0o700)
			link(t, dir+"/l", "d", stranger)
			link(t, dir+"/m", "l", -1)
			return dir + "/m/r"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			const state = "/home/u/.local/state/sm/run/sm.sock"
			runtime := tt.make(t, privateTemp(t))
			want := state
			if tt.want {
				want = filepath.Join(runtime, "sm", config.SocketName)
			}
			env := testEnv(map[string]string{"XDG_RUNTIME_DIR": runtime})
			served, err := config.Default().ServerSocket(env.LookupEnv)
			if err != nil || served != want {
				t.Errorf("the observer serves %q, %v; want %q", served, err, want)
			}
			asked, err := config.Default().SocketPaths(env.LookupEnv)
			if hook := hooks.Sockets(env.LookupEnv, nil); err != nil || asked[0] != want || hook[0] != want {
				t.Errorf("commands look at %q, %v, hooks at %q; want %q first", asked, err, hook, want)
			}
		})
	}
}
