//go:build realclient

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const realCodexVersion = "0.169.0"

// realCodex finds the real client of Codex, or installs it into the user's cache directory.
func realCodex(t *testing.T) string {
	t.Helper()
	return installPackage(
		t,
		cachedClient(t, "codex-"+realCodexVersion),
		"@openai/codex@"+realCodexVersion,
		"codex",
	)
}

// codexHome is a separate home with the client in a pane of a private tmux server.
type codexHome struct {
	*clientHome
	stub  *codexStub
	codex string // CODEX_HOME
	args  []string
	asked time.Time // when the client asked about new hooks last
}

func newCodexHome(t *testing.T) *codexHome {
	t.Helper()
	h := &codexHome{
		clientHome: newHomeOf(t, realCodex(t), nil),
		stub:       newCodexStub(t),
		args:       []string{"--no-daemon"},
	}
	h.pane = true
	h.codex = h.home + "/.codex"
	h.write(h.codex+"/config.toml", fmt.Sprintf(`model = "gpt-6-sol"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.stub]
name = "Stub"
base_url = "%s/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[projects.%q]
trust_level = "trusted"

[analytics]
enabled = false

[tui]
show_tooltips = false
`, h.stub.url, h.project))
	return h
}

// environ returns the client's environment: no variables of this machine, and a proxy that
// does not exist.
func (h *codexHome) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "CODEX_HOME=" + h.codex, "TERM=xterm-256color", "SHELL=/bin/sh", "LANG=C.UTF-8",
		"TMPDIR=" + h.dir, "STUB_KEY=dummy-not-a-key", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}
}

// start runs the client in a pane, and returns once it takes prompts.
func (h *codexHome) start(args ...string) {
	h.t.Helper()
	h.do("", slices.Concat([]string{
		"new-session", "-d", "-s", "agent", "-x", "140", "-y", "1500", "-c", h.project,
		"sh", "-c", `exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh",
	}, h.environ(), h.extra, h.wrapper, []string{h.client}, h.args, args)...)
	h.outer = h.panePID()
	eventually(h.t, "the client starts", func() string {
		h.trusts()
		if input, ok := h.input(); !ok || input != "" ||
			!strings.Contains(h.screen(), " · "+h.project) { // its footer is drawn last
			return h.screen()
		}
		return ""
	})
	h.pid = h.native()
}

func (h *codexHome) panePID() int {
	h.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(h.do(
		"",
		"display-message",
		"-p",
		"-t",
		"agent",
		"#{pane_pid}",
	)))
	noErrors(h.t, err)
	return pid
}

// native returns the client's own process; npm's is only its parent.
func (h *codexHome) native() (pid int) {
	h.t.Helper()
	eventually(h.t, "the client has a process", func() string {
		for next := []int{h.outer}; len(next) > 0; next = next[1:] {
			if exe, _ := os.Readlink(fmt.Sprintf(
				"/proc/%d/exe",
				next[0],
			)); filepath.Base(exe) == "codex" {
				pid = next[0]
				return ""
			}
			next = append(next, childrenOf(next[0])...)
		}
		return "none"
	})
	return pid
}

// input returns the content of the prompt's box, "" also for the placeholder.
func (h *codexHome) input() (text string, ok bool) {
	for line := range strings.Lines(h.screen()) {
		if rest, found := strings.CutPrefix(strings.TrimRight(line, " \n"), "›"); found {
			text = strings.TrimSpace(rest)
			ok = true
		}
	}
	if text == "Ask Codex to do anything" {
		text = ""
	}
	return text, ok
}

// enter types a line and sends it.
func (h *codexHome) enter(text string) {
	h.t.Helper()
	h.do("", "send-keys", "-t", "agent", "-l", "--", text)
	h.pressEnter(text, h.input)
}

// quit ends the client as a user does.
func (h *codexHome) quit() {
	h.t.Helper()
	h.enter("/quit")
	h.ended()
}

func (h *codexHome) ended() {
	h.t.Helper()
	eventually(h.t, "the client ends", func() string {
		if !errors.Is(syscall.Kill(h.pid, 0), syscall.ESRCH) {
			return "it runs"
		}
		if _, err := h.command("", "has-session", "-t", "agent"); err == nil {
			return "its pane is there"
		}
		return ""
	})
	h.pid = 0
}

// codexStatus is the client's own status.
type codexStatus struct {
	Session string
	Left    int // percent of the window, -1 if unknown
}

var (
	codexSession = regexp.MustCompile(`Session: +([0-9a-f-]{36})`)
	codexLeft    = regexp.MustCompile(`Context window: +(\d+)% left`)
)

// status runs /status, as a user does.
func (h *codexHome) status() (s codexStatus) {
	h.t.Helper()
	blocks := func() []string { return strings.Split("\n"+h.screen(), "\n/status\n")[1:] }
	before := len(blocks())
	h.enter("/status")
	eventually(h.t, "/status answers", func() string {
		all := blocks()
		if len(all) <= before || !strings.Contains(all[len(all)-1], "Limits:") {
			return h.screen()
		}
		s.Left = -1
		last := all[len(all)-1]
		if m := codexLeft.FindStringSubmatch(last); m != nil {
			s.Left, _ = strconv.Atoi(m[1])
		}
		if m := codexSession.FindStringSubmatch(last); m != nil {
			s.Session = m[1]
		}
		return ""
	})
	return s
}

// rollouts returns the transcripts of a thread, "" for all.
func (h *codexHome) rollouts(thread string) []string {
	paths, _ := filepath.Glob(h.codex + "/sessions/*/*/*/rollout-*" + thread + "*.jsonl")
	return paths
}

// records counts the lines of all transcripts that contain all of these texts.
func (h *codexHome) records(texts ...string) int {
	h.t.Helper()
	return countRecords(h.t, h.rollouts(""), texts...)
}

// ends counts the turns that have ended.
func (h *codexHome) ends() int {
	return h.records(`"type":"task_complete"`) + h.records(
		`"type":"turn_aborted"`,
		`"event_msg"`,
	)
}
