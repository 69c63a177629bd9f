package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sm/cmd/internal/hooks"
	"sm/handoff/proc"
	"sm/observer/api"
	"sm/transcript/claude/hook"
)

// scribe writes the files of a client: its transcript, its entry in the registry, and in the
// transcript the answers to hooks.
type scribe struct {
	home, socket  string
	project       string // the last element of its working directory
	session, path string
	origin        hook.Origin
}

// opens starts another session.
func (s *scribe) opens() {
	s.session = randomUUID()
	s.path = filepath.Join(s.home, "projects", "-home-dev-"+s.project, s.session+".jsonl")
}

func randomUUID() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
		rand.Uint32(), rand.IntN(1<<16), rand.IntN(1<<12), rand.IntN(1<<12), rand.Uint64()>>16)
}

// register writes session and state to the client's registry.
func (s *scribe) register(status string) error {
	path := filepath.Join(s.home, "sessions", strconv.Itoa(s.origin.PID)+".json")
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":"%s","cwd":"/home/dev/%s","procStart":"%s","version":"2.1.197","status":"%s","statusUpdatedAt":%d}`,
		s.origin.PID, s.session, s.project, s.origin.Start, status, time.Now().UnixMilli())
	return errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path+".new", []byte(entry), 0o600),
		os.Rename(path+".new", path),
	)
}

// write appends one record.
func (s *scribe) write(format string, args ...any) error {
	line := fmt.Sprintf(`{"sessionId":"%s","uuid":"%s","version":"2.1.197","cwd":"/home/dev/%s","timestamp":"%s",`+format+"}\n",
		append(
			[]any{
				s.session,
				randomUUID(),
				s.project,
				time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			},
			args...,
		)...)
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

// prompts writes a user's prompt.
func (s *scribe) prompts(text string) error {
	quoted, err := json.Marshal(text)
	return errors.Join(
		err,
		s.write(`"type":"user","message":{"role":"user","content":%s}`, quoted),
	)
}

// replies writes a reply of the model, after which the context has that size.
func (s *scribe) replies(context int) error {
	return s.write(`"type":"assistant","isSidechain":false,"message":{"id":"msg_%s","model":"claude-sonnet-4-5","usage":{"input_tokens":3,"cache_creation_input_tokens":997,"cache_read_input_tokens":%d,"output_tokens":7}}`,
		randomUUID(), context-1000)
}

func (s *scribe) turnEnds() error {
	return s.write(`"type":"system","subtype":"turn_duration","durationMs":50`)
}

// asks runs a hook, by a command or in this process, and returns the text of its answer.
func (s *scribe) asks(cmd *exec.Cmd, p hook.Payload) (text string, err error) {
	p.SessionID = s.session
	p.TranscriptPath = s.path
	p.CWD = "/home/dev/" + s.project
	var answer []byte
	if cmd != nil {
		cmd.Stdin = bytes.NewReader(p.Encode())
		answer, err = cmd.Output()
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), hooks.Work)
		defer cancel()
		p.SM = s.origin
		p.SM.At = time.Now().UTC()
		answer = answerOf(ctx, []string{s.socket}, p.Encode())
	}
	if err != nil || len(answer) == 0 {
		return "", err
	}
	var a struct {
		Output struct {
			Event   hook.Event `json:"hookEventName"`
			Context string     `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(
		answer,
		&a,
	); err != nil || a.Output.Event != p.Event ||
		a.Output.Context == "" {
		return "", fmt.Errorf("%s: a client cannot use the answer %q", p.Event, answer)
	}
	return a.Output.Context, nil
}

// recordAnswer writes the answer to a hook to the transcript.
func (s *scribe) recordAnswer(event hook.Event, text string) error {
	content, err := json.Marshal([]string{text})
	return errors.Join(err, s.write(
		`"type":"attachment","isSidechain":false,"attachment":{"type":"hook_additional_context","content":%s,"hookName":"%s","hookEvent":"%[2]s"}`,
		content,
		event,
	))
}

// standIn is a simulated client that works on its own. Its context grows until it compacts.
// It never waits for an observer.
type standIn struct {
	*scribe
	t             *testing.T
	d             *daemon
	agent, parent string
	rand          *rand.Rand
	lose          float64       // probability that the client ends before it records an answer
	answered      chan struct{} // gets a value for each answer with a message
	calm          func() bool   // no more compactions and losses
	context       int

	mu        sync.Mutex
	received  []received
	compacted []compacted
}

// compacted is a compaction. The parent gets a message, unless the session is cleared soon
// afterwards.
type compacted struct {
	at      time.Time
	cleared bool
}

// received is a text in a transcript, and its agent.
type received struct{ agent, text string }

func newStandIn(d *daemon, agent, parent string, lose float64) *standIn {
	d.t.Helper()
	process := exec.Command("sleep", "1000")
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	noErrors(d.t, process.Start())
	d.t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait() // killed
	})
	stat, err := proc.Stat("/proc", process.Process.Pid)
	if err != nil {
		d.t.Skip("needs /proc: ", err)
	}
	s := &standIn{
		scribe:   &scribe{home: d.dir, socket: d.socket(), project: agent},
		t:        d.t,
		d:        d,
		agent:    agent,
		parent:   parent,
		rand:     rand.New(rand.NewPCG(rand.Uint64(), 1)),
		lose:     lose,
		answered: make(chan struct{}),
	}
	s.origin = hook.Origin{
		Agent:  agent,
		Parent: parent,
		PID:    process.Process.Pid,
		Start:  stat.Start,
	}
	s.begin()
	return s
}

// begin starts another session.
func (s *standIn) begin() {
	s.opens()
	s.context = 20_000
	s.must(s.register("busy"))
}

func (s *standIn) must(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// fire runs a hook and reports whether its answer had a message. Every tenth hook is a
// process.
func (s *standIn) fire(p hook.Payload) bool {
	var cmd *exec.Cmd
	if s.rand.IntN(10) == 0 {
		cmd = s.d.command("hook")
		pid := strconv.Itoa(s.origin.PID)
		cmd.Env = append(
			cmd.Env,
			"CLAUDE_SESSION_MANAGER_ID="+s.agent,
			"SM_PARENT_ID="+s.parent,
			"CLAUDE_PID="+pid,
		)
	}
	text, err := s.asks(cmd, p)
	s.must(err)
	if text == "" {
		return false
	}
	lost := s.rand.Float64() < s.lose && !s.calm()
	select {
	case s.answered <- struct{}{}:
	default:
	}
	if lost {
		return false
	}
	s.must(s.recordAnswer(p.Event, text))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, received{s.agent, text})
	return true
}

// work runs turns, at the given pace, until ctx ends.
func (s *standIn) work(ctx context.Context, pace time.Duration) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	step := func() bool {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			return true
		}
	}
	s.fire(hook.Payload{Event: hook.SessionStart, Source: "startup"})
	for step() {
		s.must(s.register("busy"))
		s.fire(hook.Payload{Event: hook.UserPromptSubmit, Prompt: "Go on."})
		s.must(s.prompts("Go on."))
		for range 1 + s.rand.IntN(5) {
			if !step() {
				return
			}
			s.reply()
			s.fire(hook.Payload{Event: hook.PostToolUse, ToolName: "Bash"})
			if !s.calm() &&
				(s.context > 150_000 || s.context > 110_000 && s.rand.IntN(12) == 0) {
				s.compact()
			}
		}
		s.reply()
		for active := false; s.fire(hook.Payload{
			Event:          hook.Stop,
			StopHookActive: active,
		}) && step(); active = true {
			s.reply() // the client replies to the answer of a Stop hook
		}
		s.must(s.turnEnds())
		s.must(s.register("idle"))
		if !s.calm() && s.rand.IntN(150) == 0 {
			s.clear()
		}
	}
}

// reply adds a reply of the model, after which the context is larger.
func (s *standIn) reply() {
	s.context += 500 + s.rand.IntN(14_000)
	if s.calm() {
		s.context = min(s.context, 145_000)
	}
	s.must(s.replies(s.context))
}

func (s *standIn) compact() {
	trigger := []string{"auto", "manual"}[s.rand.IntN(2)]
	s.fire(hook.Payload{Event: hook.PreCompact, Trigger: trigger})
	s.mu.Lock()
	s.compacted = append(s.compacted, compacted{at: time.Now()})
	s.mu.Unlock()
	s.must(s.write(
		`"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"%s","preTokens":%d,"durationMs":81}`,
		trigger,
		s.context,
	))
	s.context = 20_000
	s.fire(hook.Payload{Event: hook.SessionStart, Source: "compact"})
	s.fire(hook.Payload{Event: hook.PostCompact, Trigger: trigger})
}

func (s *standIn) clear() {
	s.fire(hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
	s.mu.Lock()
	for i := range s.compacted {
		// The observer may not have run since then.
		if c := &s.compacted[i]; time.Since(c.at) < 10*time.Second {
			c.cleared = true
		}
	}
	s.mu.Unlock()
	s.begin()
	s.fire(hook.Payload{Event: hook.SessionStart, Source: "clear"})
}

// post sends a JSON body to the observer and returns the status of the answer, or 0 without
// one.
func (d *daemon) post(path string, body any) int {
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Error(err)
		return 0
	}
	resp, err := d.http.Post(
		"http://localhost"+path,
		"application/json",
		bytes.NewReader(text),
	)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// sender sends messages and repeats each, with its own id, until it is acknowledged.
type sender struct {
	d        *daemon
	name     string
	to       []string
	rand     *rand.Rand
	accepted chan struct{} // gets a value for each acknowledgement
	short    bool          // no text is so long that a client shows its paste as a label

	mu      sync.Mutex
	sent    map[string]sent // by the first word of the text
	answers map[int]int     // by status
}

// sent is a message that was acknowledged.
type sent struct{ to, text string }

func newSender(d *daemon, name string, to ...string) *sender {
	return &sender{
		d:        d,
		name:     name,
		to:       to,
		rand:     rand.New(rand.NewPCG(rand.Uint64(), 2)),
		accepted: make(chan struct{}),
		sent:     map[string]sent{},
		answers:  map[int]int{},
	}
}

// work sends one message after another until ctx ends, and repeats the last until it is
// accepted.
func (s *sender) work(ctx context.Context, pace time.Duration) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		word := fmt.Sprintf("%s-%d", s.name, n)
		text := word + strings.Repeat(" wörds", s.rand.IntN(20))
		if !s.short && s.rand.IntN(10) == 0 {
			text = word + strings.Repeat(" and more", 400)
		}
		to := s.to[s.rand.IntN(len(s.to))]
		m := api.NewMessage{
			ID:   word,
			From: s.name,
			Text: text,
			Mode: []string{"sequential", "important", "urgent"}[s.rand.IntN(3)],
		}
		for !s.send(to, m) {
			if s.d.t.Context().Err() != nil {
				return // the test has failed
			}
			<-tick.C
		}
		<-tick.C
	}
}

func (s *sender) send(to string, m api.NewMessage) (accepted bool) {
	status := s.d.post("/sessions/"+to+"/messages", m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[status]++
	if status != http.StatusAccepted {
		return false
	}
	s.sent[m.ID] = sent{to, m.Text}
	select {
	case s.accepted <- struct{}{}:
	default:
	}
	return true
}

// verdict is the result of a run.
type verdict struct {
	Accepted, ReadOnce, ReadTwice, Notices int
	problems                               []string
}

func (o *verdict) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

func (o *verdict) report(t *testing.T) {
	t.Helper()
	for _, p := range o.problems[:min(len(o.problems), 20)] {
		t.Error(p)
	}
	t.Logf("accepted %d, received once %d, received twice %d; notices received %d; problems %d",
		o.Accepted, o.ReadOnce, o.ReadTwice, o.Notices, len(o.problems))
}

// judge compares the messages that were sent with those in the transcripts and in the queue:
// a message is received once, or twice with the second text marked, and a notice once.
func judge(senders []*sender, list []received, queue []api.Message) (o verdict) {
	byID := map[string]api.Message{}
	keys := map[string]bool{}
	for _, m := range queue {
		byID[m.ID] = m
		if m.Key != "" && keys[m.Key] {
			o.problem("the notice %s is in the queue twice", m.Key)
		}
		keys[m.Key] = true
	}
	texts := map[string][]string{} // by the message's id
	for _, h := range list {
		m, known := byID[h.text[strings.LastIndexByte(h.text, '#')+1:]]
		if !known || m.To != h.agent {
			o.problem("%s received a message for another agent: %q", h.agent, h.text)
		}
		texts[m.ID] = append(texts[m.ID], h.text)
	}
	sends := map[string][]string{} // by the sender's id
	for _, m := range queue {
		n := len(texts[m.ID])
		if m.Key == "" {
			sends[m.Ref] = append(sends[m.Ref], texts[m.ID]...)
		} else if n > 0 {
			o.Notices++
		}
		if (m.Status == "confirmed") != (n > 0) && m.Status != "withdrawn" ||
			m.Key != "" && n > 1 {
			o.problem("%s is %s and was received %d times", m.ID+" "+m.Ref+m.Key, m.Status, n)
		}
	}
	for _, s := range senders {
		for word, m := range s.sent {
			o.Accepted++
			received := sends[word]
			for i, text := range received {
				marked := strings.Contains(text, ", repeated] ")
				if !strings.Contains(text, m.text) || strings.Count(text, "[sm ") != 1 ||
					i > 0 && !marked {
					o.problem("%s was received as %.200q", word, text)
				}
			}
			switch len(received) {
			case 1:
				o.ReadOnce++
			case 2:
				o.ReadTwice++
			default:
				o.problem("%s was accepted and received %d times", word, len(received))
			}
		}
	}
	return o
}
