package prompt

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
)

// start runs a program with an environment until the test ends, and returns its
// pid. The program has begun: before that, /proc may show an empty environment.
func start(t *testing.T, vars ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/cat")
	cmd.Env = append([]string{"A=b"}, vars...)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close() // its end
		_ = cmd.Wait()
	})

	echo := make([]byte, 1)
	if _, err := input.Write(echo); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(echo); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestPaneOf(t *testing.T) {
	t.Parallel()
	type pane struct {
		Socket string
		Server int
		Pane   string
	}
	for name, c := range map[string]struct {
		vars []string
		want pane // none: an error
	}{
		"in tmux": {
			[]string{"TMUX=/tmp/tmux-1/default,4711,0", "TMUX_PANE=%5"},
			pane{"/tmp/tmux-1/default", 4711, "%5"},
		},
		"a comma in the path": {
			[]string{"TMUX_PANE=%12", "TMUX=/tmp/a,b/default,4711,3"},
			pane{"/tmp/a,b/default", 4711, "%12"},
		},
		"nothing":   {nil, pane{}},
		"no pane":   {[]string{"TMUX=/tmp/tmux-1/default,4711,0"}, pane{}},
		"no server": {[]string{"TMUX_PANE=%5"}, pane{}},
		"an odd pane": {
			[]string{"TMUX=/tmp/tmux-1/default,4711,0", "TMUX_PANE=5; kill"},
			pane{},
		},
		"a relative socket": {[]string{"TMUX=default,4711,0", "TMUX_PANE=%5"}, pane{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket, server, id, err := paneOf(start(t, c.vars...))
			if diff := cmp.Diff(
				c.want,
				pane{socket, server, id},
			); diff != "" ||
				(err == nil) != (c.want.Pane != "") {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestTypeWithoutPane: nothing is typed, and the client is not asked.
func TestTypeWithoutPane(t *testing.T) {
	t.Parallel()
	var p Prompts
	act := func(at fleet.Place) (bool, error) {
		return p.act(t.Context(), nil, at, "hello", func(context.Context) error {
			t.Error("asked whether the client waits")
			return nil
		})
	}
	if typed, err := act(fleet.Place{
		PID: start(t),
	}); typed || err == nil || !strings.Contains(err.Error(), "runs in no tmux pane") {
		t.Errorf("got %t, %v", typed, err)
	}
	if typed, err := act(fleet.Place{
		PID: 1 << 30,
	}); typed || err == nil || !strings.Contains(err.Error(), "install sm's hooks") {
		t.Errorf("a process that is not there: %t, %v", typed, err)
	}
}
