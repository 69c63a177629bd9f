package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/term"

	"sm/alerts/outbox"
	"sm/cmd/internal/hooks"
	"sm/handoff/proc"
	"sm/observer/api"
	"sm/transcript/claude/hook"
)

const (
	paneName = "sm-pane"
	// paneHome and paneHooks are variables of a paneClient: the common home, and whether it
	// has hooks. Without hooks only its name identifies it.
	paneHome, paneHooks = "SM_TEST_HOME", "SM_TEST_HOOKS"
)

// paneScreen is a simulated client in a pane: it draws an input box, takes pastes and Enter,
// and records what was submitted.
type paneScreen struct {
	*scribe
	hooks bool
	// command runs a hook; without it the hook is sent in this process. begin runs once the
	// observer knows the client, turn replaces an ordinary turn, act runs last in a turn,
	// onAnswer gets each answer of a hook, and pasted runs before a paste is drawn.
	command  func() *exec.Cmd
	begin    func() error
	turn     func(text string) error
	act      func() error
	onAnswer func(text string)
	pasted   func(text string)

	draft, shown string
	pastes       int
	paste        *strings.Builder // the paste that is being read
	pending      []byte
}

// paneClient is the process of a paneScreen.
func paneClient() { newPaneScreen().main() }

func newPaneScreen() *paneScreen {
	s := &paneScreen{
		scribe: &scribe{
			home:    os.Getenv(paneHome),
			socket:  os.Getenv("SM_SOCKET"),
			project: "web",
		},
		hooks: os.Getenv(paneHooks) != "",
	}
	s.opens()
	return s
}

func (s *paneScreen) main() {
	err := os.Setenv("CLAUDE_PID", strconv.Itoa(os.Getpid()))
	s.origin = (&environ{
		Process: hooks.Self(nil, ""),
	}).Origin(time.Now())
	if err == nil {
		_, err = term.MakeRaw(int(os.Stdin.Fd()))
	}
	if err == nil {
		err = s.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *paneScreen) run() error {
	fmt.Print("\x1b[?2004h")
	s.draw()
	err := errors.Join(s.register("idle"), s.prompts("Go."), s.replies(31_000), s.turnEnds())
	for err == nil && !s.start() {
		<-time.After(20 * time.Millisecond) // without an observer
	}
	if err == nil && s.begin != nil {
		err = s.begin()
		s.draw()
	}
	b := make([]byte, 8192)
	for err == nil {
		var n int
		n, err = os.Stdin.Read(b)
		s.pending = append(s.pending, b[:n]...)
		err = errors.Join(err, s.read())
		s.draw()
	}
	return err
}

// start sends SessionStart. It returns false without an answer.
func (s *paneScreen) start() bool {
	client := api.NewClient([]string{s.socket})
	if s.hooks {
		_, _ = s.fire(hook.Payload{Event: hook.SessionStart, Source: "startup"})
	} else if _, err := client.Register(context.Background(), api.Registration{
		ID:        s.origin.Agent,
		SessionID: s.session,
		Pane:      s.origin.Pane,
	}); err != nil {
		return false
	}
	_, err := client.Session(context.Background(), s.origin.Agent)
	return err == nil
}

// fire runs a hook and records its answer. Without an observer a hook prints nothing.
func (s *paneScreen) fire(p hook.Payload) (spoken bool, err error) {
	if !s.hooks {
		return false, nil
	}
	var cmd *exec.Cmd
	if s.command != nil {
		cmd = s.command()
	}
	text, err := s.asks(cmd, p)
	if err != nil || text == "" {
		return false, err
	}
	if s.onAnswer != nil {
		s.onAnswer(text)
	}
	return true, s.recordAnswer(p.Event, text)
}

// submit runs a turn.
func (s *paneScreen) submit(text string) error {
	err := s.register("busy")
	if err == nil {
		_, err = s.fire(hook.Payload{Event: hook.UserPromptSubmit, Prompt: text})
	}
	err = errors.Join(err, s.prompts(text), s.replies(31_000))
	if s.act != nil {
		err = errors.Join(err, s.act())
	}
	for active, spoken := false, s.hooks; spoken && err == nil; active = true {
		spoken, err = s.fire(hook.Payload{Event: hook.Stop, StopHookActive: active})
		err = errors.Join(err, s.replies(31_000))
	}
	return errors.Join(err, s.turnEnds(), s.register("idle"))
}

// read takes keys and pastes from the pending input.
func (s *paneScreen) read() error {
	const opens, closes = "\x1b[200~", "\x1b[201~"
	for len(s.pending) > 0 {
		if s.paste != nil {
			i := bytes.Index(s.pending, []byte(closes))
			if i < 0 {
				return nil
			}
			s.insert(string(s.pending[:i]))
			s.pending = s.pending[i+len(closes):]
			s.paste = nil
			continue
		}
		switch b := s.pending[0]; {
		case bytes.HasPrefix(s.pending, []byte(opens)):
			s.pending = s.pending[len(opens):]
			s.paste = &strings.Builder{}
		case b == '\x1b' && len(s.pending) < len(opens) &&
			strings.HasPrefix(opens, string(s.pending)):
			return nil
		case b == '\r':
			s.pending = s.pending[1:]
			if text := s.draft; text != "" {
				s.draft = ""
				s.shown = ""
				s.draw()
				submit := s.submit
				if s.turn != nil {
					submit = s.turn
				}
				if err := submit(text); err != nil {
					return err
				}
			}
		case b == '\x15': // Ctrl-U: the real client empties its box
			s.draft, s.shown, s.pending = "", "", s.pending[1:]
		default:
			s.draft, s.shown = s.draft+string(s.pending[:1]), s.shown+string(s.pending[:1])
			s.pending = s.pending[1:]
		}
	}
	return nil
}

func (s *paneScreen) insert(text string) {
	s.draft += text
	if len(utf16.Encode([]rune(text))) > 800 {
		s.pastes++
		text = fmt.Sprintf("[Pasted text #%d]", s.pastes)
	}
	s.shown += text
	if s.pasted != nil {
		s.pasted(text)
	}
}

func (s *paneScreen) draw() {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < 20 {
		width = 20
	}
	rule := "\x1b[38;5;244m" + strings.Repeat("─", width) + "\x1b[39m\r\n"
	fmt.Print("\x1b[H\x1b[2J● Answer.\r\n" + rule + "❯\u00a0" + s.shown + "\x1b7\x1b[7m \x1b[0m\r\n" + rule + "  ? for shortcuts\x1b8")
}

// panes is a tmux server with simulated clients.
type panes struct {
	d      *daemon
	socket string
	agents []string
}

func newPanes(d *daemon, n int) *panes { return newPanesOf(d, n, paneName) }

// newPanesOf starts n clients of a program.
func newPanesOf(d *daemon, n int, program string) *panes {
	t := d.t
	if _, err := exec.LookPath("tmux"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs tmux and Linux")
	}
	p := &panes{d: d, socket: filepath.Join(d.dir, "tmux")}
	t.Cleanup(p.end)
	if _, err := p.tmux(
		"new-session",
		"-d",
		"-s",
		"keep",
		"-x",
		"100",
		"-y",
		"24",
		"sleep",
		"1000",
	); err != nil {
		t.Fatal(err)
	}
	exe, err := exec.LookPath(program)
	noErrors(t, err)
	for i := range n {
		agent := fmt.Sprintf("p%d", i+1)
		vars := []string{
			"env", "GOMAXPROCS=1", "SM_SOCKET=" + d.socket(), "CLAUDE_SESSION_MANAGER_ID=" + agent, paneHome + "=" + d.dir,
		}
		if i%2 == 0 {
			vars = append(vars, paneHooks+"=1")
		}
		if _, err := p.tmux(append(
			append([]string{"new-window", "-d", "-t", "keep:"}, vars...),
			exe,
		)...); err != nil {
			t.Fatal(err)
		}
		p.agents = append(p.agents, agent)
	}
	return p
}

// end ends the server and waits for its clients, which still write to their files.
func (p *panes) end() {
	pids, err := p.tmux("list-panes", "-a", "-F", "#{pane_pid}")
	if err == nil {
		_, err = p.tmux("kill-server")
	}
	if err != nil {
		p.d.t.Error(err)
	}
	timeout := time.After(2 * time.Minute)
	for text := range strings.FieldsSeq(pids) {
		pid, err := strconv.Atoi(text)
		if err != nil ||
			!comes(5*time.Millisecond, timeout, func() bool { return !proc.Alive(pid, "") }) {
			p.d.t.Errorf("client %s does not end", text)
			return
		}
	}
}

func (p *panes) tmux(args ...string) (string, error) {
	cmd := exec.Command(
		"tmux",
		append([]string{"-u", "-S", p.socket, "-f", "/dev/null"}, args...)...,
	)
	cmd.Env = []string{
		quickRace,
		"LC_ALL=C.UTF-8",
		"PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"SHELL=/bin/sh",
		"HOME=" + p.d.dir,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tmux %q: %w: %s", args, err, out)
	}
	return string(out), err
}

// received returns the prompts and hook answers in transcripts that have a message of sm. It
// counts calls, which have no text.
func (p *panes) received(sessions map[string]string) (list []received, calls int) {
	paths, err := filepath.Glob(filepath.Join(p.d.projects, "*", "*.jsonl"))
	noErrors(p.d.t, err)
	for _, path := range paths {
		f, err := os.Open(path)
		noErrors(p.d.t, err)
		defer f.Close()
		agent := sessions[strings.TrimSuffix(filepath.Base(path), ".jsonl")]
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var rec struct {
				Type       string
				Message    struct{ Content string }
				Attachment struct{ Content []string }
			}
			if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
				p.d.t.Errorf("%s: %v", path, err)
			}
			for _, text := range append(rec.Attachment.Content, rec.Message.Content) {
				switch _, called := outbox.Called(text); {
				case called:
					calls++
				case text == "", text == "Go.", strings.HasPrefix(
					text,
					"[sm message] That message ",
				): // the answer to a late call
				default:
					list = append(list, received{agent, text})
				}
			}
		}
	}
	return list, calls
}

// offered waits until the log has another offer by tmux.
func (d *daemon) offered(timeout <-chan time.Time) bool {
	path := filepath.Join(d.dir, "log")
	before, err := os.Stat(path)
	noErrors(d.t, err)
	return comes(3*time.Millisecond, timeout, func() bool {
		log, err := os.ReadFile(path)
		return err == nil && bytes.Contains(log[before.Size():], []byte("via=tmux"))
	})
}

// TestDeliveryTypingKills is TestDeliveryKills for messages that are typed at prompts in real
// tmux: the observer is killed up to 150 ms after an offer, which is before, while or after
// it types. SM_KILLS_TYPING is the number of kills.
func TestDeliveryTypingKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	n := killsOf(t, "SM_KILLS_TYPING", 5)
	d := newDaemon(t)
	d.as, d.vars = []string{quickName}, append(
		slices.Clone(plentiful),
		"SM_LOG_LEVEL=debug",
		"SM_DELIVERY_TYPE_TEXTS=true",
	)
	p := newPanes(d, 6)
	d.start()
	sessions := map[string]string{}
	d.eventually("the agents are known", func() string {
		for _, agent := range p.agents {
			s, err := d.api.Session(t.Context(), agent)
			if err != nil {
				return err.Error()
			}
			sessions[s.SessionID] = agent
		}
		return ""
	})
	quiet, stopSending := context.WithCancel(t.Context())
	defer stopSending()
	var sending sync.WaitGroup
	defer sending.Wait()
	s := newSender(d, "s", p.agents...)
	s.short = true // a label of pasted text would hide the message
	sending.Go(func() { s.work(quiet, 600*time.Millisecond) })
	aimed := 0
	for i := range n {
		if d.offered(time.After(5 * time.Second)) {
			aimed++
			<-time.After(rand.N(150 * time.Millisecond))
		}
		if !d.kill() {
			t.Fatalf("kill %d: the observer had already ended", i)
		}
		d.start()
	}
	stopSending()
	sending.Wait()
	defer func() { // shows what the client waits for
		for i := range p.agents {
			if t.Failed() {
				screen, _ := p.tmux("capture-pane", "-p", "-t", fmt.Sprintf("keep:%d", i+1))
				t.Logf("%s shows:\n%s", p.agents[i], strings.TrimSpace(screen))
			}
		}
	}()
	queue := d.delivered(
		time.Minute+time.Duration(n)*time.Second,
		func(api.Message) bool { return true },
	)
	list, calls := p.received(sessions)
	o := judge([]*sender{s}, list, queue)
	o.report(t)
	if calls == 0 || calls == o.Accepted {
		t.Errorf(
			"%d of %d messages were typed as calls: one of the ways was not tried",
			calls,
			o.Accepted,
		)
	}
	t.Logf("%d kills, %d of them after an offer to type", n, aimed)
}
