package state

import (
	"bufio"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestKills kills a process that saves without pause, again and again in one state
// directory.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	const kills = 200
	dir := filepath.Join(t.TempDir(), "sm")
	unsaid := 0 // kills between the commit and the word of it
	for kill := range kills {
		acked := killOnce(t, dir)
		s, n, err := openSteps(dir)
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if acked < 0 { // before its first word
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
	t.Logf("%d of %d kills came between a commit and the word of it", unsaid, kills)
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
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acked
}
