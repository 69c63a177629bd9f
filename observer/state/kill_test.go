package state

import (
	"bufio"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestKills kills a process that saves without pause, many times in one state directory.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	const kills = 200
	dir := filepath.Join(t.TempDir(), "sm")
	unsaid := 0 // kills between a commit and its acknowledgement
	for kill := range kills {
		acked := killOnce(t, dir)
		s, n, err := openSteps(dir)
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if acked < 0 { // before its first acknowledgement
			acked = n
		}
		if n != acked && n != acked+1 {
			t.Fatalf("kill %d: %d steps are stored, %d were acknowledged", kill, n, acked)
		}
		unsaid += n - acked
		if err := checkSteps(s, n); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if names := setAsideFiles(t, dir); len(names) > 0 {
			t.Fatalf("kill %d: set aside: %q", kill, names)
		}
		s.Close()
	}
	t.Logf("%d of %d kills were between a commit and its acknowledgement", unsaid, kills)
}

// killOnce returns the last step that was acknowledged, -1 for none.
func killOnce(t *testing.T, dir string) int {
	t.Helper()
	cmd := childCommand(t, nil, "save", dir)
	out, err := cmd.StdoutPipe()
	noErrors(t, err)
	noErrors(t, cmd.Start())
	acked := -1
	words := rand.IntN(8)
	after := rand.N(4 * time.Millisecond)
	timer := time.AfterFunc(time.Hour, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	for ; lines.Scan(); words-- {
		if acked, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if words == 0 {
			timer.Reset(after)
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("the child had already ended: %v", err)
	}
	return acked
}
