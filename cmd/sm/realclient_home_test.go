//go:build realclient

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clientHome is a separate home with the client in a pane of a private tmux server.
type clientHome struct {
	t                             *testing.T
	dir, home, project, projects  string
	client, tmux, socket, samples string
	model                         string
	stub                          *modelStub
	extra                         []string // more variables of the client
	pane                          bool     // one pane for all clients, in their environment
	wrapper                       []string // runs the client, for example sm run --
	outer                         int      // pid of the wrapper
	before                        int      // turns ended before the last prompt
	pid                           int      // of the client, 0 while none runs
}

const clientKey = "sk-ant-dummy-not-a-key-0000"

func newClientHome(t *testing.T, stub *modelStub) *clientHome {
	t.Helper()
	return newHomeOf(t, realClient(t), stub)
}

// newHomeOf returns a home for this client.
func newHomeOf(t *testing.T, client string, stub *modelStub) *clientHome {
	t.Helper()
	tmux := need(t, "tmux")
	// The paths of sockets must be short, which t.TempDir does not guarantee.
	dir, err := os.MkdirTemp("/tmp", "sm-rc-")
	noErrors(t, err)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	h := &clientHome{
		t:        t,
		dir:      dir,
		home:     dir + "/home",
		project:  dir + "/proj",
		projects: dir + "/home/.claude/projects",
		client:   client,
		tmux:     tmux,
		socket:   dir + "/tmux",
		samples:  dir + "/samples.jsonl",
		model:    realClientModel,
		stub:     stub,
	}
	t.Cleanup(h.end)
	h.write(h.project+"/README", "A project.\n")
	// Each sample is one write, so that a killed command leaves no partial line.
	h.write(
		dir+"/statusline",
		"#!/bin/sh\nprintf '%s\\n' \"$(cat)\" >>'"+h.samples+"'\necho sm\n",
	)
	noErrors(t, os.Chmod(dir+"/statusline", 0o700))
	h.writeJSON(h.home+"/.claude/settings.json", map[string]any{
		"permissions": map[string]any{"allow": []string{"Agent", "Bash", "Read"}},
		"statusLine":  map[string]string{"type": "command", "command": dir + "/statusline"},
	})
	h.writeJSON(h.home+"/.claude.json", map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": map[string][]string{
			"approved": {clientKey[len(clientKey)-20:]},
			"rejected": {},
		},
		"projects": map[string]any{h.project: map[string]any{
			"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []string{},
		}},
	})
	return h
}

func (h *clientHome) write(path, text string) {
	h.t.Helper()
	writeFile(h.t, path, []byte(text))
}

func (h *clientHome) writeJSON(path string, v any) {
	h.t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	noErrors(h.t, err)
	h.write(path, string(text))
}

// end stops what start started. The folder stays for inspection after a failure.
func (h *clientHome) end() {
	if h.t.Failed() {
		h.t.Logf("the screen:\n%s", h.screen())
		h.t.Logf("kept for inspection: %s", h.dir)
	}
	_ = exec.Command(h.tmux, "-S", h.socket, "kill-server").Run() // there may be none
	if h.pid != 0 && !h.gone(10*time.Second) {
		_ = syscall.Kill(h.pid, syscall.SIGKILL)
		h.gone(10 * time.Second)
	}
	if !h.t.Failed() {
		if err := os.RemoveAll(h.dir); err != nil {
			h.t.Error(err)
		}
	}
}

// gone waits for the end of the client, which writes to its home until then.
func (h *clientHome) gone(within time.Duration) bool {
	gone := comes(look, time.After(within), h.over)
	if gone {
		h.pid = 0
	}
	return gone
}

// over reports whether no client runs. A client that has ended may stay a zombie in a pane
// that is kept: this tmux does not always wait for it.
func (h *clientHome) over() bool {
	if h.pid == 0 || errors.Is(syscall.Kill(h.pid, 0), syscall.ESRCH) {
		return true
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.pid)) // not everywhere
	return h.pane && bytes.Contains(stat, []byte(") Z "))
}

// environ returns the client's environment: no variables of this machine, and a proxy that
// does not exist, so that it stays on loopback.
func (h *clientHome) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "TERM=xterm-256color", "SHELL=/bin/sh", "LANG=C.UTF-8", "TMPDIR=" + h.dir,
		"ANTHROPIC_BASE_URL=" + h.stub.url, "ANTHROPIC_API_KEY=" + clientKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}
}

// start runs the client in the pane and returns once it takes prompts and its status line has
// reported.
func (h *clientHome) start(args ...string) sample {
	h.t.Helper()
	before := len(h.sampled())
	h.do(
		"",
		h.launch(slices.Concat(
			h.environ(),
			h.extra,
			h.wrapper,
			[]string{h.client, "--model", h.model},
			args,
		))...,
	)
	pid, err := strconv.Atoi(strings.TrimSpace(h.do(
		"",
		"display-message",
		"-p",
		"-t",
		"agent",
		"#{pane_pid}",
	)))
	noErrors(h.t, err)
	if h.pid = pid; len(h.wrapper) > 0 {
		h.outer = pid
		h.pid = 0
		h.nextClient()
	}
	var newest sample
	eventually(h.t, "the client starts", func() string {
		if input, ok := h.input(); !ok ||
			strings.Contains(input, "1.") { // a menu's first choice
			return "no prompt"
		}
		all := h.sampled()
		if len(all) == before {
			return "no status line"
		}
		newest = all[len(all)-1]
		return ""
	})
	return newest
}

// nextClient waits for the wrapper's next client.
func (h *clientHome) nextClient() {
	h.t.Helper()
	old := h.pid
	eventually(h.t, "the wrapper has a client", func() string {
		for _, guardian := range childrenOf(h.outer) {
			for _, pid := range childrenOf(guardian) {
				argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				if pid != old && strings.Contains(string(argv), "\x00--model\x00"+h.model) {
					h.pid = pid
					return ""
				}
			}
		}
		return "none"
	})
}

// grouped returns a command in its own process group. On timeout, all processes in the group
// are killed.
func grouped(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error {
		return syscall.Kill(
			-cmd.Process.Pid,
			syscall.SIGKILL,
		)
	} // not waited for yet, so the pid is still valid
	return cmd
}

// headless runs one prompt without a terminal and returns the session.
func (h *clientHome) headless(args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	cmd := grouped(
		ctx,
		h.client,
		append(
			[]string{"--print", "Go on.", "--output-format", "json", "--model", h.model},
			args...,
		)...,
	)
	cmd.Dir, cmd.Env = h.project, append(h.environ(), h.extra...)
	out, err := cmd.Output()
	var result struct {
		SessionID string `json:"session_id"`
		Error     bool   `json:"is_error"`
	}
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil || result.Error {
		h.t.Fatalf("the client without a terminal: %v\n%s", err, out)
	}
	return result.SessionID
}

// do runs a tmux command; arguments are only key names and fixed words.
func (h *clientHome) do(stdin string, args ...string) string {
	h.t.Helper()
	out, err := h.command(stdin, args...)
	if err != nil {
		h.t.Fatalf("tmux %s: %v", args[0], err)
	}
	return out
}

func (h *clientHome) command(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(
		ctx,
		h.tmux,
		append([]string{"-S", h.socket, "-f", "/dev/null"}, args...)...,
	)
	cmd.Env, cmd.Stdin = []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
	}, strings.NewReader(stdin)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &errOut)
	}
	return string(out), err
}

func (h *clientHome) screen() string {
	out, _ := h.command("", "capture-pane", "-p", "-t", "agent")
	return strings.TrimSpace(out)
}

// input returns the content of the prompt's box: the last line with the prompt's sign.
func (h *clientHome) input() (text string, ok bool) {
	if h.over() { // the pane keeps its last content
		return "", false
	}
	for line := range strings.Lines(h.screen()) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "❯"); found {
			text = strings.TrimSpace(strings.ReplaceAll(rest, "\u00a0", " "))
			ok = true
		}
	}
	return text, ok
}

// say sends a prompt.
func (h *clientHome) say(prompt string) {
	h.t.Helper()
	h.before = h.turns()
	h.enter(prompt)
}

// quit ends the client as a user does.
func (h *clientHome) quit() {
	h.t.Helper()
	h.enter("/exit")
	if !h.gone(patience) {
		h.t.Fatal("the client does not quit")
	}
}

// enter pastes a text into the box for prompts and sends it.
func (h *clientHome) enter(text string) {
	h.t.Helper()
	h.do(text, "load-buffer", "-")
	h.do("", "paste-buffer", "-p", "-r", "-d", "-t", "agent")
	h.pressEnter(text, h.input)
}

// pressEnter sends the text in the box for prompts. It presses Enter only when the box shows
// the text, and again if the first time was too early.
func (h *clientHome) pressEnter(text string, input func() (text string, ok bool)) {
	h.t.Helper()
	eventually(h.t, "the prompt shows", func() string {
		if shown, _ := input(); shown != text {
			return strconv.Quote(shown) + " in the box"
		}
		return ""
	})
	var pressed time.Time
	eventually(h.t, "the prompt is taken", func() string {
		if shown, ok := input(); !pressed.IsZero() && (!ok || shown != text) {
			return ""
		}
		if time.Since(pressed) > 3*time.Second {
			// The client may have ended.
			_, _ = h.command("", "send-keys", "-t", "agent", "Enter")
			pressed = time.Now()
		}
		return "it is still in the box"
	})
}

// interrupt stops a turn. The client may put the prompt back into the box: then it is
// cleared.
func (h *clientHome) interrupt() {
	h.t.Helper()
	h.do("", "send-keys", "-t", "agent", "Escape")
	eventually(h.t, "the client is idle", h.busy)
	h.do("", "send-keys", "-t", "agent", "C-u")
	eventually(h.t, "the box is empty", func() string {
		input, ok := h.input()
		if !ok {
			return "no box"
		}
		return input
	})
}

// busy returns why the turn of the last prompt is not over, by the transcripts and by the
// client's registry, which does not contain every short turn.
func (h *clientHome) busy() string {
	if h.turns() == h.before {
		return "no turn has ended since the prompt"
	}
	if status, _ := h.status(); status != "idle" {
		return "the client is " + status
	}
	return ""
}

// status returns the client's state and session in its registry.
func (h *clientHome) status() (status, session string) {
	var entry struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/.claude/sessions/%d.json", h.home, h.pid))
	if err == nil {
		err = json.Unmarshal(text, &entry)
	}
	if err != nil {
		return err.Error(), ""
	}
	return entry.Status, entry.SessionID
}

// turns counts possible ends of turns in all transcripts.
func (h *clientHome) turns() (n int) {
	paths, _ := filepath.Glob(filepath.Join(h.projects, "*", "*.jsonl"))
	for _, path := range paths {
		text := readFile(h.t, path)
		for _, end := range []string{
			`"subtype":"turn_duration"`,
			`"text":"[Request interrupted by user`,
			`"isApiErrorMessage":true`,
		} {
			n += bytes.Count(text, []byte(end))
		}
	}
	return n
}

// sample is one report of the status line: the client's own figures of its context.
type sample struct {
	SessionID string `json:"session_id"`
	Path      string `json:"transcript_path"`
	Window    struct {
		Size  int64 `json:"context_window_size"`
		Used  *int  `json:"used_percentage"`
		Usage *struct {
			Input    int64 `json:"input_tokens"`
			Creation int64 `json:"cache_creation_input_tokens"`
			Read     int64 `json:"cache_read_input_tokens"`
		} `json:"current_usage"`
	} `json:"context_window"`
}

// total is the sample's context size, 0 for unknown.
func (s *sample) total() int64 {
	u := s.Window.Usage
	if u == nil {
		return 0
	}
	return u.Input + u.Creation + u.Read
}

// sampled returns all reports so far.
func (h *clientHome) sampled() []sample {
	h.t.Helper()
	text, err := os.ReadFile(h.samples)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	var all []sample
	for line := range bytes.Lines(text) {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			if line[len(line)-1] != '\n' {
				break // being written
			}
			h.t.Fatalf("invalid sample: %v\n%s", err, line)
		}
		all = append(all, s)
	}
	return all
}

// lastOf returns the newest report on a session, or the zero sample.
func (h *clientHome) lastOf(session string) (last sample) {
	h.t.Helper()
	for _, s := range h.sampled() {
		if s.SessionID == session {
			last = s
		}
	}
	return last
}

// another waits for the session that follows one.
func (h *clientHome) another(than string) (session string) {
	h.t.Helper()
	eventually(h.t, "the status line reports another session", func() string {
		all := h.sampled()
		if session = all[len(all)-1].SessionID; session == than {
			return "it is still " + than
		}
		return ""
	})
	return session
}
