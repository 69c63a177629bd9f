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
	"slices"
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

// standIn is a client that works by itself: it writes its transcript, sends each hook to
// the observer as `sm hook` does, and records the answer, as the real client
// does. Its context grows until it compacts. It never waits for an observer.
type standIn struct {
	t             *testing.T
	d             *daemon
	agent, parent string
	process       *exec.Cmd // whose pid is the client's
	origin        hook.Origin
	rand          *rand.Rand
	lose          float64       // how likely it is that the client is gone before it writes an answer down
	answered      chan struct{} // gets a value for each answer with a message
	calm          func() bool   // no more compactions and losses

	session, path string
	context, n    int

	mu        sync.Mutex
	heard     []heard
	lost      int // answers that were not recorded
	compacted []compacted
	clears    int
	hooks     int
}

// compacted is a compaction. Its parent gets a message, unless the session is cleared
// soon afterwards.
type compacted struct {
	at      time.Time
	cleared bool
}

// heard is a text in a transcript, and its agent.
type heard struct{ agent, text string }

func newStandIn(d *daemon, agent, parent string, lose float64) *standIn {
	d.t.Helper()
	process := exec.Command("sleep", "1000")
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := process.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait() // killed
	})
	stat, err := proc.Stat("/proc", process.Process.Pid)
	if err != nil {
		d.t.Skip("needs /proc: ", err)
	}
	s := &standIn{
		t:       d.t,
		d:       d,
		agent:   agent,
		parent:  parent,
		process: process,
		rand:    rand.New(rand.NewPCG(rand.Uint64(), 1)),
		lose:    lose,
		origin: hook.Origin{
			Agent:  agent,
			Parent: parent,
			PID:    process.Process.Pid,
			Start:  stat.Start,
		},
		answered: make(chan struct{}),
	}
	s.begin()
	return s
}

// begin opens another session.
func (s *standIn) begin() {
	s.session = s.uuid()
	s.context = 20_000
	s.path = filepath.Join(s.d.projects, "-home-dev-"+s.agent, s.session+".jsonl")
	s.register("busy")
}

// register says in the client's registry which session it has and what it does.
func (s *standIn) register(status string) {
	path := filepath.Join(s.d.dir, "sessions", strconv.Itoa(s.origin.PID)+".json")
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":"%s","cwd":"/home/dev/%s","procStart":"%s","version":"2.1.197","status":"%s","statusUpdatedAt":%d}`,
		s.origin.PID, s.session, s.agent, s.origin.Start, status, time.Now().UnixMilli())
	err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path+".new", []byte(entry), 0o600),
		os.Rename(path+".new", path),
	)
	if err != nil {
		s.t.Error(err)
	}
}

func (s *standIn) uuid() string {
	return fmt.Sprintf(
		"%08x-%04x-4%03x-8%03x-%012x",
		s.rand.Uint32(),
		s.rand.IntN(1<<16),
		s.rand.IntN(1<<12),
		s.rand.IntN(1<<12),
		s.rand.Uint64()>>16,
	)
}

// write appends one record.
func (s *standIn) write(format string, args ...any) {
	line := fmt.Sprintf(`{"sessionId":"%s","uuid":"%s","version":"2.1.197","cwd":"/home/dev/%s","timestamp":"%s",`+format+"}\n",
		append([]any{s.session, s.uuid(), s.agent, time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}, args...)...)
	err := os.MkdirAll(filepath.Dir(s.path), 0o700)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			_, err = file.WriteString(line)
			file.Close()
		}
	}
	if err != nil {
		s.t.Error(err)
	}
}

// tell runs a hook, and returns whether its answer had a message. Every tenth hook is a
// process.
func (s *standIn) tell(p hook.Payload) bool {
	p.SessionID = s.session
	p.TranscriptPath = s.path
	p.CWD = "/home/dev/" + s.agent
	s.mu.Lock()
	s.hooks++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), hooks.Work)
	defer cancel()
	var answer []byte
	if s.rand.IntN(10) == 0 {
		cmd := s.d.command("hook")
		cmd.Stdin = bytes.NewReader(p.Encode())
		cmd.Env = append(
			cmd.Env,
			"CLAUDE_SESSION_MANAGER_ID="+s.agent,
			"SM_PARENT_ID="+s.parent,
			"CLAUDE_PID="+strconv.Itoa(s.origin.PID),
		)
		var err error
		if answer, err = cmd.Output(); err != nil {
			s.t.Errorf("sm hook: %v", err)
		}
	} else {
		p.SM = s.origin
		p.SM.At = time.Now().UTC()
		answer = answerOf(ctx, []string{s.d.socket()}, p.Encode())
	}
	var a struct {
		Output struct {
			Event   hook.Event `json:"hookEventName"`
			Context string     `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if len(answer) == 0 {
		return false
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.Output.Event != p.Event || a.Output.Context == "" {
		s.t.Errorf("%s: a client cannot use the answer %q", p.Event, answer)
		return false
	}
	lost := s.rand.Float64() < s.lose && !s.calm()
	select {
	case s.answered <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost {
		s.lost++
		return false
	}
	content, err := json.Marshal([]string{a.Output.Context})
	if err != nil {
		s.t.Error(err)
	}
	s.write(
		`"type":"attachment","isSidechain":false,"attachment":{"type":"hook_additional_context","content":%s,"hookName":"%s","hookEvent":"%[2]s"}`,
		content,
		p.Event,
	)
	s.heard = append(s.heard, heard{s.agent, a.Output.Context})
	return true
}

// work is turn after turn, at the pace of tick, until ctx ends.
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
	s.tell(hook.Payload{Event: hook.SessionStart, Source: "startup"})
	for step() {
		s.register("busy")
		s.tell(hook.Payload{Event: hook.UserPromptSubmit, Prompt: "Go on."})
		s.write(`"type":"user","message":{"role":"user","content":"Go on."}`)
		for range 1 + s.rand.IntN(5) {
			if !step() {
				return
			}
			s.reply()
			s.tell(hook.Payload{Event: hook.PostToolUse, ToolName: "Bash"})
			if !s.calm() && (s.context > 150_000 || s.context > 110_000 && s.rand.IntN(12) == 0) {
				s.compact()
			}
		}
		s.reply()
		for active := false; s.tell(hook.Payload{Event: hook.Stop, StopHookActive: active}) && step(); active = true {
			s.reply() // the client answers to what a Stop hook says
		}
		s.write(`"type":"system","subtype":"turn_duration","durationMs":50`)
		s.register("idle")
		if !s.calm() && s.rand.IntN(150) == 0 {
			s.clear()
		}
	}
}

// reply is an API message, after which the context is larger.
func (s *standIn) reply() {
	s.context += 500 + s.rand.IntN(14_000)
	if s.calm() {
		s.context = min(s.context, 145_000)
	}
	s.n++
	s.write(`"type":"assistant","isSidechain":false,"message":{"id":"msg_%s_%d","model":"claude-sonnet-4-5","usage":{"input_tokens":3,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":7},"content":[{"type":"text","text":"Well."}]}`,
		s.session, s.n, 997, s.context-1000)
}

func (s *standIn) compact() {
	trigger := []string{"auto", "manual"}[s.rand.IntN(2)]
	s.tell(hook.Payload{Event: hook.PreCompact, Trigger: trigger})
	s.mu.Lock()
	s.compacted = append(s.compacted, compacted{at: time.Now()})
	s.mu.Unlock()
	s.write(
		`"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"%s","preTokens":%d,"durationMs":81}`,
		trigger,
		s.context,
	)
	s.context = 20_000
	s.tell(hook.Payload{Event: hook.SessionStart, Source: "compact"})
	s.tell(hook.Payload{Event: hook.PostCompact, Trigger: trigger})
}

func (s *standIn) clear() {
	s.tell(hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
	s.mu.Lock()
	s.clears++
	for i := range s.compacted {
		// The observer may not have run since.
		if c := &s.compacted[i]; time.Since(c.at) < 3*time.Second {
			c.cleared = true
		}
	}
	s.mu.Unlock()
	s.begin()
	s.tell(hook.Payload{Event: hook.SessionStart, Source: "clear"})
}

// post sends a JSON body to the observer and returns the status of the answer, 0 when there
// is none.
func (d *daemon) post(path string, body any) int {
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Error(err)
		return 0
	}
	resp, err := d.http.Post("http://localhost"+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// sender sends messages, and repeats each under its own id until it is acknowledged.
type sender struct {
	d        *daemon
	name     string
	to       []string
	rand     *rand.Rand
	accepted chan struct{} // gets a value for each acknowledgement
	short    bool          // no text is so long that a client shows its paste as a label

	mu      sync.Mutex
	sent    map[string]sent // by the first word of the text
	repeats int
	answers map[int]int // by status
}

// sent is a message of whose acceptance the sender has heard.
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

// work sends one message after the other until ctx ends, and the last until it is accepted.
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
		for first := true; !s.send(to, m, first); first = false {
			if s.d.t.Context().Err() != nil {
				return // the test has failed
			}
			<-tick.C
		}
		<-tick.C
	}
}

func (s *sender) send(to string, m api.NewMessage, first bool) (accepted bool) {
	status := s.d.post("/sessions/"+to+"/messages", m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[status]++
	if !first {
		s.repeats++
	}
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

// verdict is what became of all that was sent and said.
type verdict struct {
	Accepted, HeardOnce, HeardTwice, Lost, Merged int
	Marked                                        int // of those heard, how many were marked as repeated
	Notices, HeardNotices, DuplicateNotices       int
	problems                                      []string
}

func (o *verdict) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// judge compares what was sent with what the transcripts show, and with what the queue
// knows.
func judge(senders []*sender, list []heard, queue []api.Message) (o verdict) {
	byID := map[string]api.Message{}
	keys := map[string]string{}
	for _, m := range queue {
		byID[m.ID] = m
		if m.Key == "" {
			continue
		}
		o.Notices++
		if other := keys[m.Key]; other != "" {
			o.problem("the notice %s is in the queue twice: %s and %s", m.Key, other, m.ID)
		}
		keys[m.Key] = m.ID
	}
	sends := map[string][]string{}
	notices := map[string]int{}
	for _, h := range list {
		m, known := byID[h.text[strings.LastIndexByte(h.text, '#')+1:]]
		switch {
		case !known:
			o.problem("%s has heard what the queue does not know: %q", h.agent, h.text)
		case m.To != h.agent:
			o.problem("%s has heard what was for %s: %q", h.agent, m.To, h.text)
		case m.Key != "":
			notices[m.Key]++
		default:
			sends[m.Ref] = append(sends[m.Ref], h.text)
		}
	}
	for _, m := range queue {
		n := len(sends[m.Ref])
		if m.Key != "" {
			n = notices[m.Key]
		}
		if (m.Status == "confirmed") != (n > 0) && m.Status != "withdrawn" {
			o.problem("%s is %s and was heard %d times", m.ID+" "+m.Ref+m.Key, m.Status, n)
		}
	}
	for key, n := range notices {
		o.HeardNotices++
		if n > 1 {
			o.DuplicateNotices++
			o.problem("the notice %s was heard %d times", key, n)
		}
	}
	for _, s := range senders {
		for word, m := range s.sent {
			o.Accepted++
			o.send(word, m, sends[word])
		}
	}
	return o
}

// send judges one message by what was heard of it.
func (o *verdict) send(word string, m sent, texts []string) {
	for _, text := range texts {
		if !strings.Contains(text, m.text) || strings.Count(text, "[sm ") != 1 {
			o.problem("%s was heard as %.200q", word, text)
		}
	}
	repeated := func(text string) bool { return strings.Contains(text, ", repeated] ") }
	if slices.ContainsFunc(texts, repeated) {
		o.Marked++
	}
	switch {
	case len(texts) == 0:
		o.Lost++
		o.problem("%s was accepted and never heard", word)
	case len(texts) == 1:
		o.HeardOnce++
	default:
		o.HeardTwice++
		if len(texts) > 2 || !repeated(texts[1]) {
			o.problem("%s was heard %d times: %.80q", word, len(texts), texts)
		}
	}
}
