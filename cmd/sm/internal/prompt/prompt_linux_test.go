package prompt

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"sm/observer/fleet"
)

// start runs a program with an environment until the test ends and returns its pid. It waits
// until the program runs: before that, /proc may show an empty environment.
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
		input.Close() // the program ends
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

// TestTypeWithoutPane tests that without a pane nothing is typed and the client's state is
// not read.
func TestTypeWithoutPane(t *testing.T) {
	t.Parallel()
	var p Prompts
	act := func(at fleet.Place) (bool, error) {
		return p.Type(t.Context(), at, "hello", false, func(context.Context) error {
			t.Error("checked whether the client waits")
			return nil
		})
	}
	for name, pid := range map[string]int{
		"nowhere":         start(t),
		"no server":       start(t, "TMUX_PANE=%5"),
		"no pane":         start(t, "TMUX=/tmp/tmux-1/default,4711,0"),
		"an invalid pane": start(t, "TMUX=/tmp/tmux-1/default,4711,0", "TMUX_PANE=5; kill"),
		"not there":       1 << 30,
	} {
		typed, err := act(fleet.Place{Process: fleet.Process{PID: pid}})
		if typed || err == nil || !strings.Contains(err.Error(), "runs in no tmux pane") {
			t.Errorf("%s: %t, %v", name, typed, err)
		}
	}
}
