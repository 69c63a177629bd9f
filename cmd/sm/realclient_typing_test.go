//go:build realclient

package main_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sm/handoff/tmux"
)

// typingShell is an interactive bash in a pane, from which clients are started, and a typist.
type typingShell struct {
	*clientHome
	typist *tmux.Server
	pane   tmux.Pane
	shell  int // its pid
	asked  int
}

// newTypingShell is for clients with an end that takes long, if slow.
func newTypingShell(t *testing.T, slow bool) *typingShell {
	t.Helper()
	stub := newModelStub(t)
	stub.spare = true // a text that is submitted begins a turn
	sh := &typingShell{clientHome: newClientHome(t, stub)}
	environ := sh.environ()
	if slow {
		environ = append(environ, "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1")
		sh.writeJSON(sh.home+"/.claude/settings.json", map[string]any{
			"hooks": map[string]any{"SessionEnd": []any{map[string]any{"hooks": []any{map[string]any{
				"type":    "command",
				"command": "sleep 2",
			}}}}},
		})
	}
	var err error
	if sh.typist, err = tmux.New(tmux.Options{Quiet: -1, Timeout: patience, Echo: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	// The key prints the line that is being edited, and empties it. A second Ctrl-D is not to end the shell, and what the
	// terminal answers to the client's own questions, which the shell reads, is not to begin a search of the history.
	sh.write(sh.dir+"/rc", "PS1='$ '\nunset HISTFILE\nset -o ignoreeof\nbind -r '\\ep'\n"+
		`bind -x '"\C-x\C-l": printf "%s|\n" "$READLINE_LINE" >>`+sh.dir+`/lines; READLINE_LINE= READLINE_POINT=0'`+"\n"+
		"c() { '"+sh.client+"' --model "+sh.model+"; }\n")
	sh.do("", sh.launch(slices.Concat(environ, []string{"bash", "--rcfile", sh.dir + "/rc", "-i"}))...)
	var server int
	if _, err := fmt.Sscan(
		sh.do("", "display-message", "-p", "-t", "agent", "#{pid} #{pane_id} #{pane_pid}"),
		&server,
		&sh.pane.ID,
		&sh.shell,
	); err != nil {
		t.Fatal(err)
	}
	sh.pane.Socket = sh.socket
	sh.pane.Server = server
	return sh
}

// run starts a client from the shell, and waits until it could be typed at.
func (sh *typingShell) run() (c tmux.Client) {
	sh.t.Helper()
	sh.keys("c", "Enter")
	eventually(sh.t, "the client takes prompts", func() string {
		if c = sh.childOfShell(); c.PID == 0 {
			return "no client"
		}
		if err := sh.typist.Ready(sh.t.Context(), sh.pane, c); err != nil {
			return err.Error()
		}
		return ""
	})
	sh.pid = c.PID
	return c
}

func (sh *typingShell) childOfShell() (c tmux.Client) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", sh.shell, sh.shell))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(children)))
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return c
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return tmux.Client{PID: pid, Start: fields[19]}
}

func (sh *typingShell) keys(keys ...string) {
	sh.t.Helper()
	sh.do("", append([]string{"send-keys", "-t", "agent"}, keys...)...)
}

// ended waits for the end of the client, and kills one that goes on.
func (sh *typingShell) ended(c tmux.Client, within time.Duration) (killed bool) {
	sh.t.Helper()
	if sh.gone(within) {
		return false
	}
	_ = syscall.Kill(c.PID, syscall.SIGKILL) // or it has just ended
	sh.gone(patience)
	return true
}

// line is what stands on the shell's line, which it empties.
func (sh *typingShell) line() (line string) {
	sh.t.Helper()
	sh.asked++
	sh.keys("C-x", "C-l")
	eventually(sh.t, "the shell shows its line", func() string {
		text, _ := os.ReadFile(sh.dir + "/lines")
		lines := strings.SplitAfter(string(text), "|\n")
		if len(lines) <= sh.asked {
			return "not yet"
		}
		line = strings.TrimSuffix(lines[sh.asked-1], "|\n")
		return ""
	})
	return line
}

// typingEnd is a way in which a client ends: what prepares it, and what begins it.
type typingEnd struct {
	name          string
	prepare, keys []string
	shows         string // by the client, once it is prepared
	signal        syscall.Signal
}

var typingEnds = []typingEnd{
	{
		name:    "/exit",
		prepare: []string{"-l", "/exit"},
		shows:   "❯\u00a0/exit",
		keys:    []string{"Enter"},
	},
	{name: "Ctrl-D", keys: []string{"C-d", "C-d"}},
	{
		name:    "Ctrl-C twice",
		prepare: []string{"C-c"},
		shows:   "again to exit",
		keys:    []string{"C-c"},
	},
	{name: "SIGTERM", signal: syscall.SIGTERM},
	{name: "SIGHUP", signal: syscall.SIGHUP},
	{name: "SIGKILL", signal: syscall.SIGKILL},
}

// typeWhileEnding types a text about when the client begins to end, or where its end is slow while it does.
func (sh *typingShell) typeWhileEnding(random *rand.Rand, c tmux.Client, how typingEnd, slow bool, text string) error {
	sh.t.Helper()
	if how.prepare != nil {
		sh.keys(how.prepare...)
		eventually(sh.t, "the client has the keys", func() string {
			if !strings.Contains(sh.screen(), how.shows) {
				return sh.screen()
			}
			return ""
		})
	}
	// The moments are what is tried here, so this waits for nothing but time.
	early := random.IntN(60)
	late := random.IntN(60)
	kill := 0
	if slow && random.IntN(2) == 0 {
		late = random.IntN(2500)
	}
	if slow && random.IntN(2) == 0 {
		kill = 200 + random.IntN(2000)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(time.Duration(early) * time.Millisecond)
		if how.keys != nil {
			_, _ = sh.command("", append([]string{"send-keys", "-t", "agent"}, how.keys...)...)
		} else {
			_ = syscall.Kill(c.PID, how.signal)
		}
		if kill > 0 {
			time.Sleep(time.Duration(kill) * time.Millisecond)
			if sh.childOfShell() == c {
				_ = syscall.Kill(c.PID, syscall.SIGKILL)
			}
		}
	})
	time.Sleep(time.Duration(late) * time.Millisecond)
	err := sh.typist.Type(context.Background(), sh.pane, c, text, nil)
	for began := time.Now(); tmux.ReasonOf(err) == tmux.ReasonDraft && time.Since(began) < time.Second; {
		err = sh.typist.Type(context.Background(), sh.pane, c, text, nil) // until the command is taken
	}
	wg.Wait()
	return err
}

// TestRealClientTypingWhileEnding ends clients that were started from a shell in all the ways there are, at random moments
// about the typing of a text that a shell would run: it never runs it, and nothing is left on its line. SM_ENDINGS says how
// often, with and without a hook that makes the end take 2 s.
func TestRealClientTypingWhileEnding(t *testing.T) {
	need(t, "bash")
	n := 6
	if v, err := strconv.Atoi(os.Getenv("SM_ENDINGS")); err == nil {
		n = v
	}
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprintf("slow=%v", slow), func(t *testing.T) {
			sh := newTypingShell(t, slow)
			random := rand.New(rand.NewPCG(11, uint64(n)))
			within := 2 * time.Second // else the text was submitted, and the client goes on
			if slow {
				within = 5 * time.Second
			}
			ran := 0
			drafts := 0
			taken := 0
			killed := 0
			found := map[string]int{}
			for i := range n {
				how := typingEnds[i%len(typingEnds)]
				reached := filepath.Join(sh.project, fmt.Sprint("reached", i))
				text := fmt.Sprintf("[sm from x] hi; echo >>%[1]s; $(echo >>%[1]s) #%06[2]x", reached, i)
				c := sh.run()
				err := sh.typeWhileEnding(random, c, how, slow, text)
				if found[string(tmux.ReasonOf(err))]++; tmux.ErasedIn(err) {
					taken++
				}
				if sh.ended(c, within) {
					killed++
				}
				// What answers to the client's own questions to its terminal may be there without our doing.
				if line := sh.line(); strings.Contains(line, "[sm") || strings.Contains(line, fmt.Sprintf("#%06x", i)) {
					drafts++
					t.Errorf("try %d, %s: %q is left on the shell's line: %v", i, how.name, line, err)
				}
				if _, err := os.Stat(reached); err == nil {
					ran++
					t.Errorf("try %d, %s: the shell has run the text", i, how.name)
				}
			}
			var outcomes []string
			for _, name := range slices.Sorted(maps.Keys(found)) {
				outcomes = append(outcomes, fmt.Sprintf("%s %d", name, found[name]))
			}
			t.Logf("FIGURES: %d ends: %d run by the shell, %d drafts on its line, %d taken back; %d clients had to be killed; outcomes: %s",
				n, ran, drafts, taken, killed, strings.Join(outcomes, ", "))
		})
	}
}
