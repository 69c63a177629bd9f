//go:build realclient

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// supervisedClient is the client under `sm run`, in a shell with job control.
type supervisedClient struct {
	*clientHome
	program string
	shell   int
	starts  int // clients so far
}

const shellReady = "ready>"

func newSupervisedClient(t *testing.T) *supervisedClient {
	t.Helper()
	bash := need(t, "bash")
	stub := newModelStub(t)
	stub.spare = true
	h := newClientHome(t, stub)
	s := &supervisedClient{clientHome: h, program: buildProgram(t, h.dir)}
	vars := slices.Concat(
		[]string{"env", "-i"},
		h.environ(),
		[]string{"PS1=" + shellReady + " ", "SM_SOCKET=" + h.dir + "/none", "HISTFILE=/dev/null"},
	)
	h.do("", slices.Concat([]string{"new-session", "-d", "-s", "agent", "-x", "140", "-y", "50", "-c", h.project}, vars,
		[]string{bash, "--norc", "--noprofile", "-i"})...)
	pid, err := strconv.Atoi(strings.TrimSpace(h.do("", "display-message", "-p", "-t", "agent", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	s.shell = pid
	s.shows(shellReady)
	return s
}

// line types a line for the shell.
func (s *supervisedClient) line(text string) {
	s.t.Helper()
	s.do("", "send-keys", "-t", "agent", "-l", text)
	s.do("", "send-keys", "-t", "agent", "Enter")
}

func (s *supervisedClient) shows(text string) {
	s.t.Helper()
	eventually(s.t, "the screen shows "+text, func() string {
		if !strings.Contains(s.screen(), text) {
			return s.screen()
		}
		return ""
	})
}

// begin runs the client and waits for the end of its first turn.
func (s *supervisedClient) begin(words string) {
	s.t.Helper()
	s.line(s.dir + "/sm run -- " + s.clientHome.client + " --model " + s.model + " " + words)
	s.next()
}

// next waits for another client to take its prompt to the end.
func (s *supervisedClient) next() {
	s.t.Helper()
	s.starts++
	old := s.pid
	eventually(s.t, "another client is idle", func() string {
		if turns := s.turns(); turns != s.starts {
			return fmt.Sprintf("%d turns have ended, want %d", turns, s.starts)
		}
		for _, pid := range s.census() {
			entry, err := os.ReadFile(fmt.Sprintf("%s/.claude/sessions/%d.json", s.home, pid))
			if err == nil && pid != old && bytes.Contains(entry, []byte(`"idle"`)) {
				s.pid = pid
				return ""
			}
		}
		return "no client is idle"
	})
}

// supervisor is the parent of the client's parent, its guardian.
func (s *supervisedClient) supervisor() int {
	s.t.Helper()
	pid := s.pid
	for range 2 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			s.t.Fatal(err)
		}
		if pid, err = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1]); err != nil {
			s.t.Fatal(err)
		}
	}
	return pid
}

// census lists all processes of this home but the shell.
func (s *supervisedClient) census() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		vars, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != s.shell && bytes.Contains(vars, []byte("HOME="+s.home+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ended checks that no process is left, and that the shell takes lines.
func (s *supervisedClient) ended() {
	s.t.Helper()
	eventually(s.t, "all have ended", func() string {
		if left := s.census(); len(left) > 0 {
			return fmt.Sprint(left)
		}
		return ""
	})
	s.line("clear; stty -a | grep -wo -e icanon -e echo -e isig | sort | xargs echo modes")
	s.shows("modes echo icanon isig")
	s.pid = 0
}

// sane makes sure that the terminal itself is as it was.
func (s *supervisedClient) sane() {
	s.t.Helper()
	eventually(s.t, "the modes are back", func() string {
		return strings.Trim(
			s.do("", "display-message", "-p", "-t", "agent", "#{alternate_on}#{mouse_any_flag}#{?cursor_flag,,1}"),
			"0\n",
		)
	})
}

// cooked reports that the terminal gives whole lines, and makes signals of keys.
func (s *supervisedClient) cooked() bool {
	s.t.Helper()
	tty := strings.TrimSpace(s.do("", "display-message", "-p", "-t", "agent", "#{pane_tty}"))
	modes, err := exec.Command("stty", "-a", "-F", tty).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return !bytes.Contains(modes, []byte("-isig"))
}

// prompts are the first prompts of all sessions, in order.
func (s *supervisedClient) prompts() (all []string) {
	s.t.Helper()
	type first struct{ at, text string }
	var firsts []first
	for _, path := range transcripts(s.t, s.projects) {
		text, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var rec struct {
				Type      string `json:"type"`
				Timestamp string `json:"timestamp"`
				Message   struct {
					Content any `json:"content"`
				} `json:"message"`
			}
			if json.Unmarshal(line, &rec) == nil && rec.Type == "user" {
				firsts = append(firsts, first{rec.Timestamp, fmt.Sprint(rec.Message.Content)})
				break
			}
		}
	}
	slices.SortFunc(firsts, func(a, b first) int { return strings.Compare(a.at, b.at) })
	for _, f := range firsts {
		all = append(all, f.text)
	}
	return all
}

func (s *supervisedClient) kill(pid int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.t.Fatal(err)
	}
}

// code asks the shell for the exit code of what it has run last.
func (s *supervisedClient) code(want int) {
	s.t.Helper()
	eventually(s.t, "the shell is back", func() string {
		if front := strings.TrimSpace(s.do(
			"",
			"display-message",
			"-p",
			"-t",
			"agent",
			"#{pane_current_command}",
		)); front != "bash" {
			return front + " is in front"
		}
		return ""
	})
	s.line("echo code=$?.")
	s.shows(fmt.Sprintf("code=%d.", want))
}

func TestRealClientSupervised(t *testing.T) {
	s := newSupervisedClient(t)
	s.begin("'Begin it.'")
	sm := s.supervisor()
	if got, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", sm)); err != nil || got != s.program {
		t.Fatalf("the client's parent is %s, %v", got, err)
	}
	s.kill(sm, syscall.SIGUSR1)
	s.next()
	if diff := cmp.Diff([]string{"Begin it.", "Continue where you left off."}, s.prompts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.supervisor(); got != sm {
		t.Errorf("the second client is a child of %d, the first was of %d", got, sm)
	}

	s.do("", "send-keys", "-t", "agent", "C-z")
	eventually(t, "the shell reads", func() string { // or else what is typed would be the client's
		if screen := strings.TrimSpace(s.screen()); !strings.Contains(screen, "Stopped") ||
			!strings.HasSuffix(screen, shellReady) {
			return screen
		}
		return ""
	})
	s.line("clear; fg")
	eventually(t, "the client is back", func() string {
		screen := s.screen() // that of before is not to be looked at
		if _, ok := s.input(); !ok || strings.Contains(screen, "Stopped") || s.cooked() {
			return "no prompt"
		}
		return ""
	})
	s.do("", "send-keys", "-t", "agent", "C-c")
	s.shows("Press Ctrl-C again")
	s.do("", "send-keys", "-t", "agent", "C-c")
	s.shows("restarted the client 1 of 10 times")
	s.code(0)
	s.ended()
	s.sane()

	for _, c := range []struct {
		name string
		end  func()
		code int
	}{
		{"SIGTERM", func() { s.kill(s.supervisor(), syscall.SIGTERM) }, 143},
		{"the client is killed", func() { s.kill(s.pid, syscall.SIGKILL) }, 137},
		{"sm run is killed", func() { s.kill(s.supervisor(), syscall.SIGKILL) }, 137},
	} {
		t.Log(c.name)
		s.line("clear")
		s.begin("'Begin it.'")
		c.end()
		s.code(c.code)
		s.ended()
		if c.name != "sm run is killed" { // nobody is left to show the cursor
			s.sane()
		}
	}
	if got := len(s.prompts()); got != 5 {
		t.Errorf("%d sessions, want 5", got)
	}
}
