//go:build realclient

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sm/transcript"
)

// modelStep is the model's answer to one request of a conversation.
type modelStep struct {
	grow   int64  // the context grows by this
	tools  int    // number of Bash calls, in one message
	bash   string // their command; "" for an echo
	other  string // another tool to call besides, with this input
	input  any
	agents [][]int // subagents to start in one message, each with its calls of Bash, round by round
	refuse bool    // "prompt is too long": the client compacts and repeats the request; hold then applies to its summary
	fail   bool    // another error of the API, at each attempt
	busy   bool    // "overloaded": the client repeats the request by itself
	hold   bool    // the answer waits for letGo
	cut    bool    // the answer stops before its end, until the client gives up
	drop   bool    // the same, until letGo breaks the connection: the client takes what it has
}

// stubServer is the common part of the models' stubs of both clients: a plan for the next
// prompts, and requests that are held.
type stubServer struct {
	url     string
	started chan struct{} // gets a token for each request that is held
	mu      sync.Mutex
	plan    []modelStep
	release chan struct{} // closed to let the held requests go
	n       int           // requests so far
	wrong   []string
}

// serve answers requests until the test ends.
func (s *stubServer) serve(t *testing.T, handler http.Handler) {
	t.Helper()
	s.started = make(chan struct{}, 16)
	s.release = make(chan struct{})
	server := httptest.NewServer(handler)
	s.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// script plans the answers to the next prompt.
func (s *stubServer) script(steps ...modelStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.plan) > 0 {
		s.wrong = append(
			s.wrong,
			fmt.Sprintf("%d answers of the last plan were never asked for", len(s.plan)),
		)
	}
	s.plan = slices.Clone(steps)
}

// forget drops the rest of the plan: the turn was cut short.
func (s *stubServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = nil
	for len(s.started) > 0 {
		<-s.started
	}
}

// letGo lets the held requests go.
func (s *stubServer) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// waits holds a request back; it returns false if the client has disconnected meanwhile.
func (s *stubServer) waits(r *http.Request, hold chan struct{}) bool {
	s.started <- struct{}{}
	select {
	case <-hold:
		return true
	case <-r.Context().Done():
		return false
	}
}

// awaitHeld waits until a request is held back.
func (s *stubServer) awaitHeld(t *testing.T) {
	t.Helper()
	select {
	case <-s.started:
	case <-time.After(patience):
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf(
			"no request to hold; %d answers are planned; wrong: %q",
			len(s.plan),
			s.wrong,
		)
	}
}

func (s *stubServer) report(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// truth is what the model has answered, so what the client can have recorded: each message
// once.
type truth struct {
	Context                int64 // of the main conversation's newest message
	Blank                  bool  // there was a compaction since then
	Messages, SideMessages int
	Tokens, SideTokens     transcript.Usage
	Compactions, Cuts      int
	Busy                   int // requests being answered
}

// modelStub is a Messages API. Main conversations follow the plan that the test makes before
// each prompt; subagents follow the call that started them; all other requests get one word,
// and are not counted.
type modelStub struct {
	stubServer
	spare     bool            // requests outside the plan end the turn: hooks make the client continue
	early     bool            // summaries are written in advance: the context stays as it is
	failing   bool            // until the next plan
	summary   chan struct{}   // the next summary waits for this, if not nil
	delivered map[string]bool // ids of messages in requests
	context   int64           // tokens of the main conversation
	truth     truth
	subs      map[string][]int // rounds left, by subagent
	sizes     map[string]int64 // tokens in the context, by subagent
}

const (
	stubRequests = 5000 // more requests mean that the client loops
	stubBody     = 64 << 20
	// afterCompaction is the size of system prompt, tools and summary.
	afterCompaction = 30_000
)

func newModelStub(t *testing.T) *modelStub {
	t.Helper()
	s := &modelStub{
		subs:      map[string][]int{},
		sizes:     map[string]int64{},
		delivered: map[string]bool{},
	}
	s.serve(t, s)
	return s
}

// resize sets the size of the main conversation, for one that begins again or is another one.
func (s *modelStub) resize(tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = tokens
	s.truth.Blank = false
}

// goBack rewinds the main conversation to where it had that size; 0 is its beginning, where
// its next answer has the size of a new one.
func (s *modelStub) goBack(tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = max(tokens, 20_000)
	s.truth.Context = tokens
	s.truth.Blank = tokens == 0
}

// holdSummary holds the next summary back.
func (s *modelStub) holdSummary() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary = s.release
}

// said returns the truth so far, the rest of the plan, and errors.
func (s *modelStub) said() (truth, int, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.truth, len(s.plan), slices.Clone(s.wrong)
}

// modelRequest has the fields that are read of a request.
type modelRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// lastFromUser returns the newest message except those of the system, which some models get
// at the end.
func (q *modelRequest) lastFromUser() string {
	for _, m := range slices.Backward(q.Messages) {
		if m.Role == "user" {
			return string(m.Content)
		}
	}
	return ""
}

// modelBlock is a part of an answer.
type modelBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Input     any    `json:"input,omitempty"`
}

// modelAnswer is one message, and what is recorded once it has been sent.
type modelAnswer struct {
	id     string
	blocks []modelBlock
	stop   string
	usage  transcript.Usage
	sent   func(*truth)
	hold   chan struct{} // nil for an answer at once
	cut    bool
	drop   bool
}

// modelRefusal is an error of the API.
type modelRefusal struct {
	code       int
	kind, text string
}

func (s *modelStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, stubBody))
	if err != nil {
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":1}`)
		return
	}
	var q modelRequest
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) == 0 {
		s.report("a request that is none: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a, refusal := s.answer(&q)
	defer s.count(func(t *truth) { t.Busy-- })
	if refusal != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refusal.code)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type":  "error",
			"error": map[string]string{"type": refusal.kind, "message": refusal.text},
		})
		return
	}
	if a.hold != nil && !a.drop { // otherwise it is held in the middle of the stream
		if !s.waits(r, a.hold) {
			return
		}
	}
	if err := s.send(w, r, &q, a); err == nil {
		s.count(a.sent)
	}
}

func (s *modelStub) count(f func(*truth)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.truth)
}

var subtask = regexp.MustCompile(`subtask-(\d+)`)

// answer decides what a request is about and what the model answers.
func (s *modelStub) answer(q *modelRequest) (a modelAnswer, refusal *modelRefusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truth.Busy++
	if s.n++; s.n > stubRequests {
		return a, &modelRefusal{400, "invalid_request_error", "too many requests"}
	}
	a = modelAnswer{
		id:   fmt.Sprintf("msg_%024d", s.n),
		stop: "end_turn",
		sent: func(*truth) {},
	}
	switch {
	case strings.Contains(q.lastFromUser(), "detailed summary"):
		a.blocks = []modelBlock{{
			Type: "text",
			Text: "<analysis>All is said.</analysis>\n<summary>" + strings.Repeat(
				"1. Primary request: the same as ever. ",
				8,
			) + "</summary>",
		}}
		a.usage = s.usage(s.context)
		a.hold = s.summary
		s.summary = nil
		if s.early {
			break
		}
		s.context = afterCompaction
		a.sent = func(t *truth) {
			t.Compactions = t.Compactions + 1
			t.Blank = true
		}
	case len(q.Tools) <= 3:
		a.blocks, a.usage = []modelBlock{{Type: "text", Text: "ok"}}, s.usage(500)
	default:
		s.noteMessages(q)
		if m := subtask.FindSubmatch(q.Messages[0].Content); m != nil {
			s.side(&a, string(m[1]))
			return a, nil
		}
		return a, s.main(&a)
	}
	return a, nil
}

// main answers as planned.
func (s *modelStub) main(a *modelAnswer) *modelRefusal {
	var step modelStep
	switch {
	case len(s.plan) > 0:
		step = s.plan[0]
		s.plan = s.plan[1:]
		s.failing = step.fail
	case s.spare:
		step.grow = 100
	case !s.failing:
		s.wrong = append(s.wrong, "a request that no plan foresees")
		s.failing = true
	}
	switch {
	case s.failing:
		return &modelRefusal{400, "invalid_request_error", "asked to fail"}
	case step.refuse:
		if step.hold {
			s.summary = s.release
		}
		return &modelRefusal{
			400,
			"invalid_request_error",
			fmt.Sprintf("prompt is too long: %d tokens > 200000 maximum", s.context+200_000),
		}
	case step.busy:
		return &modelRefusal{529, "overloaded_error", "Overloaded"}
	}
	s.context += step.grow
	a.usage = s.usage(s.context)
	a.cut = step.cut
	a.drop = step.drop
	a.blocks = []modelBlock{{
		Type:      "thinking",
		Thinking:  "Let me see.",
		Signature: "c2lnbmVk",
	}, {
		Type: "text",
		Text: fmt.Sprintf("Answer %d.", s.n),
	}}
	for i := range step.tools {
		a.call(
			"Bash",
			s.n,
			i,
			map[string]string{
				"command":     cmp.Or(step.bash, fmt.Sprintf("echo %d", i)),
				"description": "Say a number",
			},
		)
	}
	if step.other != "" {
		a.call(step.other, s.n, 90, step.input)
	}
	for i, rounds := range step.agents {
		name := fmt.Sprint(len(s.sizes) + 1)
		s.subs[name] = rounds
		s.sizes[name] = 11_000
		a.call(
			"Agent",
			s.n,
			i,
			map[string]string{
				"description":   "Help",
				"prompt":        "Please do subtask-" + name + ".",
				"subagent_type": "general-purpose",
			},
		)
	}
	if step.hold || step.drop {
		a.hold = s.release
	}
	usage := a.usage
	size := s.context
	if step.cut || step.drop {
		usage.Output = 1 // according to the client
	}
	a.sent = func(t *truth) {
		t.Context = size
		t.Blank = false
		t.Messages++
		t.Tokens = t.Tokens.Plus(usage)
		if step.cut || step.drop {
			t.Cuts++
		}
	}
	return nil
}

// side answers a subagent.
func (s *modelStub) side(a *modelAnswer, name string) {
	s.sizes[name] += 1500
	a.usage = s.usage(s.sizes[name])
	a.blocks = []modelBlock{{Type: "text", Text: "Done with that."}}
	if rounds := s.subs[name]; len(rounds) > 0 {
		s.subs[name] = rounds[1:]
		for i := range rounds[0] {
			a.call(
				"Bash",
				s.n,
				i,
				map[string]string{"command": "echo side", "description": "Say a word"},
			)
		}
	}
	usage := a.usage
	a.sent = func(t *truth) {
		t.SideMessages++
		t.SideTokens = t.SideTokens.Plus(usage)
	}
}

func (a *modelAnswer) call(tool string, message, i int, input any) {
	a.stop = "tool_use"
	a.blocks = append(a.blocks, modelBlock{
		Type:  "tool_use",
		ID:    fmt.Sprintf("toolu_%06d%02d", message, i),
		Name:  tool,
		Input: input,
	})
}

// usage splits a context size into figures that differ from message to message.
func (s *modelStub) usage(tokens int64) transcript.Usage {
	input := int64(3 + s.n%7)
	creation := int64(1000 + s.n%100)
	return transcript.Usage{
		Input:         input,
		CacheCreation: creation,
		CacheRead:     max(0, tokens-input-creation),
		Output:        int64(20 + s.n%50),
	}
}

// wireUsage returns the usage in the API's form; output grows while a message streams.
func (s *modelStub) wireUsage(u transcript.Usage, output int64) map[string]any {
	hour := u.CacheCreation / 3
	return map[string]any{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheCreation, "cache_read_input_tokens": u.CacheRead, "output_tokens": output,
		"cache_creation": map[string]int64{
			"ephemeral_5m_input_tokens": u.CacheCreation - hour,
			"ephemeral_1h_input_tokens": hour,
		},
		"service_tier": "standard",
	}
}

func (s *modelStub) send(
	w http.ResponseWriter,
	r *http.Request,
	q *modelRequest,
	a modelAnswer,
) error {
	message := map[string]any{
		"id":            a.id,
		"type":          "message",
		"role":          "assistant",
		"model":         q.Model,
		"stop_sequence": nil,
	}
	if !q.Stream {
		message["content"], message["stop_reason"], message["usage"] = a.blocks, a.stop, s.wireUsage(
			a.usage,
			a.usage.Output,
		)
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(message)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	e := eventStream{w: w}
	message["content"], message["stop_reason"], message["usage"] = []int{}, nil, s.wireUsage(
		a.usage,
		1,
	)
	e.send("message_start", map[string]any{"message": message})
	for i, b := range a.blocks {
		e.block(i, b)
	}
	if a.drop || a.cut {
		s.count(a.sent)
		select {
		case <-a.hold:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
	delta := map[string]any{
		"delta": map[string]any{"stop_reason": a.stop, "stop_sequence": nil},
		"usage": s.wireUsage(a.usage, a.usage.Output),
	}
	e.send("message_delta", delta)
	e.send("message_stop", map[string]any{})
	return e.err
}

// begin starts the main conversation again with a context of that size, which no answer has
// shown yet.
func (s *modelStub) begin(tokens int64) {
	s.resize(tokens)
	s.count(func(t *truth) { t.Blank = true })
}

// subtask prepares the model for a subagent with a subtask, and names it.
func (s *modelStub) subtask(tokens int64, rounds ...int) (name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = fmt.Sprint(len(s.sizes) + 1)
	s.subs[name] = rounds
	s.sizes[name] = tokens
	return name
}

// eventStream writes server-sent events.
type eventStream struct {
	w   http.ResponseWriter
	err error
}

func (e *eventStream) send(kind string, data map[string]any) {
	data["type"] = kind
	text, err := json.Marshal(data)
	if err == nil && e.err == nil {
		_, err = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", kind, text)
	}
	if e.err == nil {
		e.err = err
	}
	if e.err == nil {
		e.err = http.NewResponseController(e.w).Flush()
	}
}

func (e *eventStream) block(i int, b modelBlock) {
	start := map[string]any{"type": b.Type}
	delta := map[string]any{}
	switch b.Type {
	case "thinking":
		start["thinking"] = ""
		start["signature"] = ""
		delta["type"] = "thinking_delta"
		delta["thinking"] = b.Thinking
	case "text":
		start["text"] = ""
		delta["type"] = "text_delta"
		delta["text"] = b.Text
	default:
		input, _ := json.Marshal(b.Input) // strings alone
		start["id"] = b.ID
		start["name"] = b.Name
		start["input"] = struct{}{}
		delta["type"] = "input_json_delta"
		delta["partial_json"] = string(input)
	}
	e.send("content_block_start", map[string]any{"index": i, "content_block": start})
	e.send("content_block_delta", map[string]any{"index": i, "delta": delta})
	if b.Type == "thinking" {
		e.send(
			"content_block_delta",
			map[string]any{
				"index": i,
				"delta": map[string]any{"type": "signature_delta", "signature": b.Signature},
			},
		)
	}
	e.send("content_block_stop", map[string]any{"index": i})
}
