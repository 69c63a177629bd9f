//go:build realclient

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// codexTruth is what the model has answered in a thread.
type codexTruth struct {
	Context      int64 // by its newest answer, 0 after a compaction and before the first
	Auto, Manual int   // compactions, by the client's own header
	Output       int   // tokens, those of compactions with them
	Side         bool  // of a subagent
}

// codexStub is a Responses API. Threads of users follow the plan that the test makes before
// each prompt, subagents run one command, and a compaction leaves codexCompacted tokens.
type codexStub struct {
	stubServer
	sizes    map[string]int64 // of contexts, by thread
	threads  map[string]*codexTruth
	received map[string]int // the user's messages in the newest request, all threads together
	busy     int
}

const (
	codexBegins    = 15_000 // what instructions and tools take
	codexCompacted = 20_000
	codexOutput    = 40 // tokens of each answer
)

func newCodexStub(t *testing.T) *codexStub {
	t.Helper()
	s := &codexStub{
		sizes:    map[string]int64{},
		threads:  map[string]*codexTruth{},
		received: map[string]int{},
	}
	s.serve(t, s)
	return s
}

// goOn gives a thread that starts from another one its context.
func (s *codexStub) goOn(thread string, tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[thread] = tokens
}

// goBack rewinds a thread to where its context had that size, which is unknown until its next
// answer.
func (s *codexStub) goBack(thread string, tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[thread] = tokens
	s.threads[thread].Context = 0
}

// said returns the answers by thread, and why answers are still missing: "" once none is due.
func (s *codexStub) said() (threads map[string]codexTruth, unsaid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	threads = map[string]codexTruth{}
	for id, t := range s.threads {
		threads[id] = *t
	}
	if len(s.plan) > 0 || s.busy > 0 || len(s.wrong) > 0 {
		unsaid = fmt.Sprintf(
			"%d answers are planned, %d requests are open; wrong: %q",
			len(s.plan),
			s.busy,
			s.wrong,
		)
	}
	return threads, unsaid
}

// times returns how often users' texts contain a text, in the newest request that has any.
func (s *codexStub) times(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for said, times := range s.received {
		if strings.Contains(said, text) {
			n += times
		}
	}
	return n
}

// codexRequest has the fields that are read of a request and of its header about the turn.
type codexRequest struct {
	Model string      `json:"model"`
	Input []codexItem `json:"input"`
	turn  struct {
		Thread     string `json:"thread_id"`
		Kind       string `json:"request_kind"`
		Source     string `json:"thread_source"`
		Compaction struct {
			Trigger string `json:"trigger"`
		} `json:"compaction"`
	}
}

type codexItem map[string]any

func (s *codexStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, stubBody))
	if err != nil {
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.NotFound(w, r)
		return
	}
	var q codexRequest
	if err := json.Unmarshal(body, &q); err == nil {
		err = json.Unmarshal([]byte(r.Header.Get("X-Codex-Turn-Metadata")), &q.turn)
	}
	if err != nil || q.turn.Thread == "" {
		s.report("a request that is none: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.count(1)
	defer s.count(-1)
	a := s.answer(&q)
	if a.hold != nil && !s.waits(r, a.hold) {
		return
	}
	if a.send(w, q.Model) == nil {
		s.mu.Lock()
		t := s.thread(&q)
		t.Output += codexOutput
		a.sent(t)
		s.mu.Unlock()
	}
}

func (s *codexStub) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
}

func (s *codexStub) thread(q *codexRequest) *codexTruth {
	t := s.threads[q.turn.Thread]
	if t == nil {
		t = &codexTruth{}
		if q.turn.Source == "thread_title" {
			return t // it has no transcript
		}
		t.Side = q.turn.Source == "subagent"
		s.threads[q.turn.Thread] = t
	}
	return t
}

// codexAnswer is one response, and what is recorded once it has been sent.
type codexAnswer struct {
	id     string
	items  []codexItem
	tokens int64
	sent   func(*codexTruth)
	hold   chan struct{}
}

// answer decides what the model answers to a request.
func (s *codexStub) answer(q *codexRequest) codexAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	a := codexAnswer{id: fmt.Sprintf("resp_%06d", s.n), sent: func(*codexTruth) {}}
	thread := q.turn.Thread
	if _, known := s.sizes[thread]; !known {
		s.sizes[thread] = codexBegins
	}
	switch {
	case q.turn.Kind == "compaction":
		a.say(s.n, "SUMMARY: the user runs tests; carry on.")
		a.tokens = s.sizes[thread]
		s.sizes[thread] = codexCompacted
		auto := q.turn.Compaction.Trigger == "auto"
		a.sent = func(t *codexTruth) {
			if t.Context = 0; auto {
				t.Auto++
			} else {
				t.Manual++
			}
		}
	case q.turn.Source == "thread_title":
		a.say(s.n, `{"title": "Run the test"}`)
		a.tokens = 3005
	case q.turn.Source == "subagent":
		if s.sizes[thread] += 1000; s.sizes[thread] == codexBegins+1000 {
			a.run(s.n, "echo side")
		} else {
			a.say(s.n, "Done with that.")
		}
		a.grown(s.sizes[thread])
	default:
		s.listen(q)
		s.planned(&a, q)
	}
	return a
}

// planned answers by the plan, and with one word without it: messages of sm start additional
// turns.
func (s *codexStub) planned(a *codexAnswer, q *codexRequest) {
	step := modelStep{grow: 100}
	if len(s.plan) > 0 {
		step = s.plan[0]
		s.plan = s.plan[1:]
	}
	if step.hold {
		a.hold = s.release
	}
	s.sizes[q.turn.Thread] += step.grow
	a.grown(s.sizes[q.turn.Thread])
	switch {
	case step.tools > 0 && step.bash != "":
		a.run(s.n, step.bash)
	case step.tools > 0:
		a.run(s.n, "echo "+strings.Repeat("again ", step.tools))
	case len(step.agents) > 0:
		for i := range step.agents {
			a.call(
				fmt.Sprintf("%06d%d", s.n, i),
				"spawn_agent",
				fmt.Sprintf(`{"message":"Please help.","task_name":"sub_%d_%d"}`, s.n, i),
			)
		}
		s.plan = slices.Insert(s.plan, 0, modelStep{grow: 100, other: "wait_agent"})
	case step.other != "":
		a.call(fmt.Sprintf("%06d", s.n), "wait_agent", `{"timeout_ms":20000}`)
	default:
		a.say(s.n, fmt.Sprintf("Answer %d.", s.n))
	}
}

// listen records the user's texts.
func (s *codexStub) listen(q *codexRequest) {
	s.received = map[string]int{}
	for _, item := range q.Input {
		if item["role"] != "user" {
			continue
		}
		text, _ := json.Marshal(item["content"])
		s.received[string(text)]++
	}
}

// grown returns an answer after which the context has that size.
func (a *codexAnswer) grown(tokens int64) {
	a.tokens = tokens
	a.sent = func(t *codexTruth) { t.Context = tokens }
}

func (a *codexAnswer) call(id, name, arguments string) {
	a.items = append(a.items, codexItem{
		"type":      "function_call",
		"id":        "fc_" + id,
		"call_id":   "call_" + id,
		"name":      name,
		"namespace": "collaboration",
		"arguments": arguments,
	})
}

func (a *codexAnswer) say(n int, text string) {
	a.items = append(a.items, codexItem{
		"type": "message", "id": fmt.Sprintf(
			"msg_%06d",
			n,
		), "role": "assistant", "status": "completed", "phase": "final_answer",
		"content": []codexItem{{"type": "output_text", "text": text, "annotations": []int{}}},
	})
}

// run calls the shell as models in code mode do: by a little JavaScript.
func (a *codexAnswer) run(n int, command string) {
	args, _ := json.Marshal(map[string]any{"cmd": command, "yield_time_ms": 20_000})
	a.items = append(a.items, codexItem{
		"type": "custom_tool_call", "id": fmt.Sprintf(
			"ctc_%06d",
			n,
		), "call_id": fmt.Sprintf(
			"call_%06d",
			n,
		), "name": "exec", "status": "completed",
		"input": "text(JSON.stringify(await tools.exec_command(" + string(args) + ")));",
	})
}

// send writes the response as a stream of events.
func (a *codexAnswer) send(w http.ResponseWriter, model string) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Codex-Primary-Used-Percent", "12.5")
	w.Header().Set("X-Codex-Primary-Window-Minutes", "300")
	w.Header().Set("X-Codex-Primary-Reset-At", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
	e := eventStream{w: w}
	response := func(status string) map[string]any {
		return map[string]any{
			"id":     a.id,
			"object": "response",
			"status": status,
			"model":  model,
		}
	}
	e.send("response.created", map[string]any{"response": response("in_progress")})
	for i, item := range a.items {
		e.send("response.output_item.added", map[string]any{"output_index": i, "item": item})
		e.send("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	done := response("completed")
	done["output"] = a.items
	done["usage"] = map[string]any{
		"input_tokens": a.tokens - codexOutput, "input_tokens_details": map[string]int64{"cached_tokens": max(
			0,
			a.tokens-2000-codexOutput,
		)},
		"output_tokens": codexOutput, "output_tokens_details": map[string]int{"reasoning_tokens": 10}, "total_tokens": a.tokens,
	}
	e.send("response.completed", map[string]any{"response": done})
	return e.err
}
