package tmux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAttach tests the command that shows a pane, for different places of this process.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"tmux": "#!/bin/sh\n", "socket": ""} {
		noError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	socket := filepath.Join(dir, "socket")
	link := filepath.Join(dir, "link")
	noError(t, os.Symlink(socket, link))
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		name   string
		pane   Pane
		inside string // TMUX
		want   string
		kept   bool // TMUX
	}{
		{
			"outside of tmux",
			Pane{socket, 0, "%3"},
			"",
			"-S " + socket + " attach-session -t %3",
			false,
		},
		{
			"in its own server",
			Pane{socket, 0, "%3"},
			socket + ",12,0",
			"-S " + socket + " switch-client -t %3",
			true,
		},
		{
			"in its own server, by another path",
			Pane{socket, 0, "%3"},
			link + ",12,0",
			"-S " + socket + " switch-client -t %3",
			true,
		},
		{
			"in another server",
			Pane{socket, 0, "%3"},
			"/tmp/other,12,0",
			"-S " + socket + " attach-session -t %3",
			false,
		},
		{"no socket is known, inside", Pane{
			ID: "%3",
		}, "/tmp/other,12,0", "switch-client -t %3", true},
		{"no pane's id", Pane{Socket: socket, ID: "%3;kill-server"}, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			environ := []string{"HOME=/x", "TMUX=" + c.inside}
			if c.inside == "" {
				environ = environ[:1]
			}
			cmd, err := Attach(t.Context(), c.pane, environ)
			if c.want == "" {
				if err == nil {
					t.Errorf("got %q", cmd.Args)
				}
				return
			}
			noError(t, err)
			want := environ
			if !c.kept {
				want = append(environ, "TMUX=")
			}
			if diff := cmp.Diff(want, cmd.Env); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := strings.Join(
				cmd.Args[1:],
				" ",
			); got != c.want ||
				cmd.Path != filepath.Join(dir, "tmux") {
				t.Errorf("got %s %s, want %s", cmd.Path, got, c.want)
			}
		})
	}
	t.Setenv("PATH", filepath.Join(dir, "none"))
	if _, err := Attach(t.Context(), Pane{socket, 0, "%3"}, nil); err == nil {
		t.Error("no error without tmux")
	}
}
