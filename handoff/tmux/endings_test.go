package tmux

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shell is an interactive bash in a pane, in which simulated clients start and end.
type shell struct {
	*rig
	dir, pane string
	asked     int
}

// startShellWith starts a shell with additional settings.
func (r *rig) startShellWith(settings string) *shell {
	r.t.Helper()
	sh := &shell{rig: r, dir: filepath.Join(filepath.Dir(r.socket), "shell")}
	noError(r.t, os.Mkdir(sh.dir, 0o700))
	// The key prints the line that is being edited, and empties it, which the screen does not
	// prove.
	rc := "PS1='$ '\nunset HISTFILE\ncd '" + sh.dir + "'\n" + settings + "bind -x '\"\\C-x\\C-l\": printf \"%s|\\n\" \"$READLINE_LINE\" >>lines; READLINE_LINE= READLINE_POINT=0'\n"
	noError(r.t, os.WriteFile(filepath.Join(sh.dir, "rc"), []byte(rc), 0o600))
	sh.pane = r.tmux(
		"new-window",
		"-d",
		"-t",
		"keep:",
		"-P",
		"-F",
		"#{pane_id}",
		"bash",
		"--rcfile",
		filepath.Join(sh.dir, "rc"),
		"-i",
	)
	return sh
}

// line returns the content of the shell's line, when no client is in front, and clears it.
func (sh *shell) line() string {
	sh.t.Helper()
	sh.asked++
	sh.tmux("send-keys", "-t", sh.pane, "C-x", "C-l")
	var lines []string
	sh.until("the shell shows its line", func() bool {
		text, err := os.ReadFile(filepath.Join(sh.dir, "lines"))
		if err != nil && !os.IsNotExist(err) {
			sh.t.Fatal(err)
		}
		lines = strings.SplitAfter(string(text), "|\n")
		return len(lines) > sh.asked
	})
	return strings.TrimSuffix(lines[sh.asked-1], "|\n")
}

// run starts a simulated client from the shell.
func (sh *shell) run() *agent {
	sh.t.Helper()
	a, argv := sh.standIn()
	sh.tmux("send-keys", "-t", sh.pane, strings.Join(argv, " "), "Enter")
	a.met(sh.pane)
	a.reaches(ReasonNone)
	return a
}

// ended waits until the shell is in front again.
func (a *agent) ended() {
	a.r.t.Helper()
	a.r.until("the client has ended", a.gone)
}

// kill ends a client that does not end.
func (a *agent) kill() {
	a.r.t.Helper()
	noError(a.r.t, syscall.Kill(a.client.PID, syscall.SIGKILL))
	a.ended()
}

// TestEndings types a text that a shell would run, while the client ends in one of the ways
// in which its box stays on the screen although its keys go to the shell. SM_ENDINGS is the
// number of attempts for each.
func TestEndings(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	n := count(t, "SM_ENDINGS", 4)
	for _, c := range []struct{ name, how string }{
		{"at random", "off"},
		{"in line mode without bracketed paste", "linger off"},
		{"in line mode with bracketed paste", "linger"},
		{"with the cursor below the box", "linger below"},
		{"killed", "kill"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, pace{echo: 2 * time.Second})
			sh := r.startShellWith("")
			random := rand.New(rand.NewPCG(7, uint64(len(c.name))))
			ran := 0
			drafts := 0
			taken := 0
			found := map[Reason]int{}
			for i := range n {
				reached := filepath.Join(sh.dir, fmt.Sprint("reached", i))
				text := fmt.Sprintf(
					"[sm from x] hi; echo >>%[1]s; $(echo >>%[1]s) #%06[2]x",
					filepath.Base(reached),
					i,
				)
				err := sh.typeWhileEnding(random, c.how, text)
				if found[ReasonOf(err)]++; errorIn(err).Erased {
					taken++
				}
				if line := sh.line(); line != "" {
					drafts++
					t.Errorf("attempt %d: %q is left on the shell's line: %v", i, line, err)
				}
				if _, err := os.Stat(reached); err == nil {
					ran++
					t.Errorf("attempt %d: the shell has run the text", i)
				}
			}
			r.noBuffers()
			t.Logf(
				"%d tries: %d run by the shell, %d drafts on its line, %d taken back; outcomes: %v",
				n,
				ran,
				drafts,
				taken,
				found,
			)
		})
	}
}

// typeWhileEnding types at about the time when a new client begins to end.
func (sh *shell) typeWhileEnding(random *rand.Rand, how, text string) error {
	sh.t.Helper()
	a := sh.run()
	// The test needs random moments, so this waits for a time only.
	early := time.Duration(random.IntN(50)) * time.Millisecond
	late := time.Duration(random.IntN(30)) * time.Millisecond
	linger := 5 + random.IntN(60)
	if strings.HasPrefix(how, "linger") {
		linger = 400
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		<-time.After(early)
		a.leave(fmt.Sprintf("leave %d %s", linger, how))
	})
	<-time.After(late)
	err := sh.Type(context.Background(), a.line(text, nil))
	wg.Wait()
	a.ended()
	return err
}
