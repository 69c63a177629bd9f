package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sm/cmd/internal/hooks"
	"sm/cmd/internal/places"
	"sm/cmd/sm/internal/config"
	"sm/observer/socket"
)

// privateTemp returns a folder of mode 0700 whose path is short enough for a socket;
// t.TempDir is neither.
func privateTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sm")
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// shellIn runs a script in a folder. It skips the test if the script changes owners and this
// user may not.
func shellIn(t *testing.T, dir, script string) {
	t.Helper()
	if strings.Contains(script, "chown") && os.Geteuid() != 0 {
		t.Skip("only root can change owners")
	}
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestRuntimeDir tests that observer and clients agree whether to use XDG_RUNTIME_DIR.
func TestRuntimeDir(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		script  string // creates it; chown needs root
		runtime string
		want    string // the directory in use, "" for the one of the state
	}{
		{"ours", "mkdir -m 700 r", "r", "r"},
		{"link", "mkdir -m 700 r; ln -s r l", "l", "r"},
		{"not there", "", "r", ""},
		{"open to the group", "mkdir -m 750 r", "r", ""},
		{"open to others", "mkdir -m 1777 r", "r", ""},
		{
			"too long",
			"mkdir -m 700 " + strings.Repeat("x", socket.MaxPath),
			strings.Repeat("x", socket.MaxPath),
			"",
		},
		{"another user's", "mkdir -m 700 r; chown 65534 r", "r", ""},
		{"link to another user's", "mkdir -m 700 r; chown 65534 r; ln -s r l", "l", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := privateTemp(t)
			shellIn(t, dir, tt.script)
			runtime := filepath.Join(dir, tt.runtime)
			want := "/home/u/.local/state/sm/run/sm.sock"
			if tt.want != "" {
				want = filepath.Join(dir, tt.want, "sm", places.SocketName)
			}
			env := testEnv(map[string]string{"XDG_RUNTIME_DIR": runtime})
			served, err := config.Default().ServerSocket(env.Env)
			if err != nil || served != want {
				t.Errorf("the observer serves %q, %v; want %q", served, err, want)
			}
			asked, err := config.Default().SocketPaths(env.Env)
			if hook := hooks.Sockets(
				env.Env,
				nil,
			); err != nil || asked[0] != want ||
				hook[0] != want {
				t.Errorf(
					"commands look at %q, %v, hooks at %q; want %q first",
					asked,
					err,
					hook,
					want,
				)
			}
		})
	}
}
