package observer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/fleet"
)

// stage is a terminal that records typed text, and refuses on request.
type stage struct {
	mu     sync.Mutex
	refuse error // of what is not typed
	after  error // of what is typed all the same
	asks   bool  // asks whether the agent is idle
	before func()
	lines  []string
	tries  int
	at     fleet.Place
}

func (s *stage) Type(
	ctx context.Context,
	at fleet.Place,
	text string,
	idle func(context.Context) error,
) (typed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.at = at
	if s.refuse != nil {
		return false, s.refuse
	}
	if s.before != nil {
		s.before()
	}
	if s.asks {
		if err := idle(ctx); err != nil {
			return false, err
		}
	}
	s.lines = append(s.lines, text)
	return true, s.after
}

func (s *stage) Finish(context.Context, fleet.Place, string, func(context.Context) error) (bool, error) {
	return false, errors.New("the box is empty")
}

func (s *stage) set(change func(*stage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *stage) typed() (lines []string, tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), s.tries
}

// prompts is what the client does with a line that was typed: its hook asks for the text, and
// the transcript shows both.
func (r *rig) prompts(session, line string) (text string) {
	r.t.Helper()
	text = r.submits(session, line)
	r.write(session, prompt(stamp(time.Now()), "p-"+line, line), attachment(stamp(time.Now()), text))
	return text
}

// submits is the hook of a prompt.
func (r *rig) submits(session, line string) (text string) {
	r.t.Helper()
	var answer struct {
		Output struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	code := r.onSocket(http.MethodPost, "/hooks/claude", map[string]any{
		"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": line,
		"sm": map[string]any{
			"agent":  "w1",
			"tmux":   "/tmp/tmux",
			"server": 77,
			"pane":   "%3",
			"pid":    os.Getpid(),
			"start":  "test 7",
		},
	}, &answer)
	if code != http.StatusOK {
		r.t.Fatalf("hook: %d", code)
	}
	return answer.Output.Context
}

// onSocket asks over the socket, where everything is served.
func (r *rig) onSocket(method, path string, body, into any) int {
	r.t.Helper()
	text, err := json.Marshal(body)
	noErrors(r.t, err)
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://localhost"+path, bytes.NewReader(text))
	noErrors(r.t, err)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.o.Socket)
	}}}
	resp, err := client.Do(req)
	noErrors(r.t, err)
	defer resp.Body.Close()
	if into != nil {
		noErrors(r.t, json.NewDecoder(resp.Body).Decode(into))
	}
	return resp.StatusCode
}

// pane makes an agent known that runs in a pane, by a hook of this process.
func (r *rig) pane(agent, session, event string) {
	r.t.Helper()
	code := r.onSocket(http.MethodPost, "/hooks/claude", map[string]any{
		"session_id": session, "hook_event_name": event, "source": "startup",
		"sm": map[string]any{
			"agent":  agent,
			"tmux":   "/tmp/tmux",
			"server": 77,
			"pane":   "%3",
			"pid":    os.Getpid(),
			"start":  "test 7",
		},
	}, nil)
	if code/100 != 2 {
		r.t.Fatalf("hook: %d", code)
	}
}

// rested is when a client has sat at its prompt for long enough.
func rested() string {
	return fmt.Sprintf(`,"status":"idle","statusUpdatedAt":%d`, time.Now().Add(-time.Minute).UnixMilli())
}

func (r *rig) send(agent, text string) (id string) {
	r.t.Helper()
	var m api.Message
	if code := r.onSocket(http.MethodPost, "/sessions/"+agent+"/messages", api.NewMessage{
		Text: text,
	}, &m); code != http.StatusAccepted {
		r.t.Fatalf("send: %d", code)
	}
	return m.ID
}

func (r *rig) message(id string) (found api.Message) {
	r.t.Helper()
	var all api.Messages
	r.onSocket(http.MethodGet, "/messages", nil, &all)
	for _, m := range all.Messages {
		if m.ID == id {
			found = m
		}
	}
	return found
}

// newStage is an observer with a terminal, and an agent "w1" in a pane with a session.
func newStage(t *testing.T, s Terminal) *rig {
	r := newRig(t)
	r.o.Terminal = s
	r.o.Alive = func(int, string) bool { return true }
	r.client(7, uuid(1), rested())
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(50*time.Second), "m1", 20_000, 5))
	r.start()
	r.pane("w1", uuid(1), "SessionStart")
	return r
}

func TestTypedToAnIdleAgentAndProvenByItsTranscript(t *testing.T) {
	t.Parallel()
	s := &stage{asks: true}
	r := newStage(t, s)
	id := r.send("w1", "Look at CI.")
	r.until("typed", func() bool { lines, _ := s.typed(); return len(lines) > 0 })
	lines, _ := s.typed()
	if want := "[sm message] #" + id; lines[0] != want || s.at != (fleet.Place{
		Socket: "/tmp/tmux",
		Server: 77,
		Pane:   "%3",
		PID:    os.Getpid(),
		Start:  "test 7",
	}) {
		t.Errorf("typed %q at %+v, want %q", lines[0], s.at, want)
	}
	if m := r.message(id); m.Status != "offered" || m.Via != "tmux" {
		t.Errorf("before the transcript shows it: %+v", m)
	}
	if text, want := r.prompts(uuid(1), lines[0]), "[sm message] Look at CI. #"+id; text != want {
		t.Errorf("its hook was answered with %q, want %q", text, want)
	}
	r.until("confirmed", func() bool { return r.message(id).Status == "confirmed" })
	if lines, _ := s.typed(); len(lines) != 1 {
		t.Errorf("typed %q", lines)
	}
}

func TestAgentThatWorksAgainIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := &stage{asks: true}
	r := newStage(t, s)
	s.set(func(s *stage) { s.before = func() { r.pane("w1", uuid(1), "UserPromptSubmit") } })
	id := r.send("w1", "Too late.")
	r.until(
		"waits again",
		func() bool { _, tries := s.typed(); return tries == 1 && r.message(id).Status == "waiting" },
	)
	if lines, _ := s.typed(); len(lines) != 0 {
		t.Errorf("typed %q", lines)
	}
}

func TestNotTypedWhileCompacting(t *testing.T) {
	t.Parallel()
	s := &stage{}
	r := newStage(t, s)
	r.onSocket(
		http.MethodPost,
		"/hooks/context-usage",
		map[string]string{"session_id": "w1", "event": "compaction", "trigger": "auto"},
		nil,
	)
	id := r.send("w1", "After the compaction.")
	before := time.Now()
	r.until("two looks have passed", func() bool { return time.Since(before) > 2*typeEvery })
	if lines, tries := s.typed(); tries != 0 || r.message(id).Status != "waiting" {
		t.Fatalf("typed %q while compacting", lines)
	}
	r.onSocket(
		http.MethodPost,
		"/hooks/context-usage",
		map[string]string{"session_id": "w1", "event": "compaction_complete"},
		nil,
	)
	r.until("typed", func() bool { lines, _ := s.typed(); return len(lines) == 1 })
}

// slow types until the observer ends.
type slow struct{ begun chan struct{} }

func (s slow) Type(
	ctx context.Context,
	_ fleet.Place,
	_ string,
	_ func(context.Context) error,
) (typed bool, err error) {
	close(s.begun)
	<-ctx.Done()
	return true, nil
}

func (s slow) Finish(context.Context, fleet.Place, string, func(context.Context) error) (bool, error) {
	return false, errors.New("the box is empty")
}

// hookless is newStage with an agent that no hook has named.
func hookless(t *testing.T, s Terminal, change func(*Options)) *rig {
	r := newRig(t)
	r.o.Terminal = s
	r.o.Alive = func(int, string) bool { return true }
	change(&r.o)
	r.client(7, uuid(1), rested())
	r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(50*time.Second), "m1", 20_000, 5))
	r.start()
	r.joins("other", "")
	return r
}

// TestCallIsAnsweredWithItsOwn: whatever else waits, and however urgently; and one that is no
// more is answered with a word.
func TestCallIsAnsweredWithItsOwn(t *testing.T) {
	t.Parallel()
	s := &stage{asks: true}
	r := newStage(t, s)
	id := r.send("w1", "The first.")
	r.until("typed", func() bool { lines, _ := s.typed(); return len(lines) == 1 })
	r.onSocket(http.MethodPost, "/sessions/w1/messages", api.NewMessage{Text: "Urgent.", Mode: "urgent"}, nil)
	var got []string
	for range 2 {
		got = append(got, r.submits(uuid(1), "[sm message] #"+id))
	}
	got = append(got, r.submits(uuid(1), "[sm message] #ffffff"))
	r.write(uuid(1), attachment(stamp(time.Now()), got[0]))
	r.until("confirmed", func() bool { return r.message(id).Status == "confirmed" })
	got = append(got, r.prompts(uuid(1), "[sm message] #"+id))
	if want := []string{"[sm message] The first. #" + id, callLater, callOver, callOver}; !slices.Equal(got, want) {
		t.Errorf("answered %q, want %q", got, want)
	}
	if text := r.prompts(uuid(1), "Go on."); !strings.HasPrefix(text, "[sm message] Urgent. #") {
		t.Errorf("the next hook is answered with %q", text)
	}
}

// TestTextOfOthersWaitsForHooks: without a hook no text of others is typed, and the
// sender gets the reason.
func TestTextOfOthersWaitsForHooks(t *testing.T) {
	t.Parallel()
	s := &stage{asks: true}
	r := hookless(t, s, func(*Options) {})
	var m api.Message
	r.onSocket(http.MethodPost, "/sessions/"+uuid(1)+"/messages", api.NewMessage{
		Text: "hi; touch x; $(touch x)",
		Mode: "urgent",
	}, &m)
	r.write(uuid(1), reply(stamp(time.Now()), "m2", 150_000, 5))
	r.until("the notice is typed", func() bool { lines, _ := s.typed(); return len(lines) > 0 })
	lines, _ := s.typed()
	if !strings.HasPrefix(lines[0], "[sm context] Context at 75%, critically high. ") || len(lines) != 1 {
		t.Errorf("typed %q", lines)
	}
	got := r.message(m.ID)
	if m.WaitsFor != "hooks" || got.WaitsFor != "hooks" || got.Status != "waiting" {
		t.Errorf("%+v, then %+v", m, got)
	}
	var x api.Session
	r.onSocket(http.MethodGet, "/sessions/"+uuid(1), nil, &x)
	if x.HooksSeen || x.WaitForHooks != 1 {
		t.Errorf("%+v", x)
	}
}

// TestCalledForWhenACycleOpens: what was said of a handoff in the cycle before is taken back, also when the agent has
// been called for it and has not asked for it.
func TestCalledForWhenACycleOpens(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := &core{queue: outbox.New(outbox.Defaults())}
	m, err := c.queue.Put(outbox.Message{
		To:       "a",
		Ref:      handoffRef + "1/failed",
		Text:     "It did not take place.",
		OwnWords: true,
	}, now)
	noErrors(t, err)
	if _, ok := c.queue.Call("a", now); !ok {
		t.Fatal("not called")
	}
	c.opened(&alerts.Opened{Agent: "a", Cause: alerts.CauseClear}, now)
	if m, _ = c.queue.Find(m.ID); m.State != outbox.Withdrawn {
		t.Errorf("%+v", m)
	}
}
