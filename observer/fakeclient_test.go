package observer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
)

// fakeClient is a client in a pane: it sends hooks over the socket, writes its transcript and
// its entry in the registry, and obeys text that is typed at its prompt. It records its
// messages.
type fakeClient struct {
	terminal        *fakeClients
	agent, pane     string
	start, provider string
	client          string // "" is Claude Code
	cwd, dir        string // folder where it started, and where it works; "" is the same one

	session  string
	sessions int
	entries  int
	nap      chan struct{} // closed to let typing continue; nil for at once
	lines    []string
	context  int // tokens of the next reply
}

// fakeClients is the terminal of all clients.
type fakeClients struct {
	r    *rig
	mu   sync.Mutex // of all of the clients' fields
	all  map[string]*fakeClient
	dead map[string]bool // by start
	line []fleet.Process // ancestors of the caller of a route, if set
	// refuse makes typing fail; begun gets each typing that begins.
	refuse error
	begun  chan string
	typing map[string]bool
}

// newFakeClients returns an observer that carries out handoffs, without agents yet.
func newFakeClients(t *testing.T) *fakeClients {
	r := newWatched(t)
	c := &fakeClients{
		r:      r,
		all:    map[string]*fakeClient{},
		dead:   map[string]bool{},
		typing: map[string]bool{},
		begun:  make(chan string, 100),
	}
	r.o.Terminal = c
	r.o.Queue.PerSenderMinute = 0
	r.o.Alive = func(_ int, start string) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.dead[start]
	}
	r.o.Ancestry = func(int) []fleet.Process {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.line
	}
	r.o.Handoff = HandoffOptions{
		Rotations:     rotation.Defaults(),
		Documents:     handoff.NewDocuments(filepath.Join(r.dir, "handoff"), 2*time.Hour, r.o.Logger),
		DocumentBytes: 4096,
		Characters:    9500,
	}
	return c
}

// newPane starts a client in pane %n.
func (c *fakeClients) newPane(agent string, n int) *fakeClient {
	c.r.t.Helper()
	a := c.newClient(agent, n)
	a.starts("startup")
	return a
}

// newClient makes a client that has not started.
func (c *fakeClients) newClient(agent string, n int) *fakeClient {
	a := &fakeClient{
		terminal: c,
		agent:    agent,
		pane:     fmt.Sprintf("%%%d", n),
		start:    fmt.Sprintf("test %d", n),
		cwd:      "/home/dev/web",
		context:  20_000,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[a.pane], c.line = a, []fleet.Process{{PID: os.Getpid(), Start: a.start}}
	return a
}

// number returns the number of the client's pane.
func (a *fakeClient) number() (n int) {
	_, _ = fmt.Sscanf(a.pane, "%%%d", &n) // the format of newPane
	return n
}

// starts begins a session that is at work.
func (a *fakeClient) starts(source string) {
	a.sessions++
	a.session = uuid(100*a.number() + a.sessions)
	a.rests("busy")
	a.hook("SessionStart", fmt.Sprintf(`,"source":%q`, source))
	a.record(`"type":"system","subtype":"informational"`)
}

// rests writes the registry's entry. Two in a row differ in length: they may have the same
// modification time, which turns of a real client never have.
func (a *fakeClient) rests(status string) {
	var pad string
	a.terminal.set(func() { // a text may be typed at the same time
		a.entries++
		pad = strings.Repeat("x", a.entries%9)
	})
	a.terminal.r.client(
		a.number(),
		a.session,
		fmt.Sprintf(
			`,"status":%q,"statusUpdatedAt":%d,"pad":%q`,
			status,
			time.Now().UnixMilli()+1,
			pad,
		),
	)
}

// receives records an event of the client.
func (a *fakeClient) receives(format string, args ...any) {
	a.terminal.mu.Lock()
	defer a.terminal.mu.Unlock()
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
}

// log returns all lines so far, ids as "#".
func (a *fakeClient) log() (list []string) {
	a.terminal.mu.Lock()
	defer a.terminal.mu.Unlock()
	for _, line := range a.lines {
		if body, id, ok := strings.Cut(line, " #"); ok && len(id) == 6 {
			line = body + " #"
		}
		list = append(list, line)
	}
	return list
}

// hook sends a hook and writes its answer to the transcript.
func (a *fakeClient) hook(event, fields string) (text string) {
	body := fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"cwd":%q,"hook_event_name":%q,`+
		`"sm":{"agent":%q,"provider":%q,"client":%q,"tmux":"/tmp/tmux","server":77,"pane":%q,"pid":%d,"start":%q}%s}`,
		a.session, a.path(), cmp.Or(
			a.dir,
			a.cwd,
		), event, a.agent, a.provider, a.client, a.pane, os.Getpid(), a.start, fields)
	answer, err := a.terminal.r.try(http.MethodPost, "/hooks/claude", body)
	if err != nil || answer.Code/100 != 2 {
		a.terminal.r.t.Errorf("%s: %v, %d %s", event, err, answer.Code, answer.Body)
		return ""
	}
	x, _ := hook.DecodeAnswer([]byte(answer.Body))
	if text = x.Context; text != "" {
		a.receives("%s: %s", event, text)
		content, err := json.Marshal([]string{text})
		noErrors(a.terminal.r.t, err)
		a.record(fmt.Sprintf(
			`"type":"attachment","attachment":{"type":"hook_additional_context","content":%s,"hookName":%q}`,
			content,
			event,
		))
	}
	return text
}

func (a *fakeClient) path() string {
	return filepath.Join(a.terminal.r.projects, handoff.ProjectName(a.cwd), a.session+".jsonl")
}

// record appends one record to the transcript.
func (a *fakeClient) record(fields string) {
	appendLines(a.terminal.r.t, a.path(), fmt.Sprintf(`{"uuid":"u-%d","sessionId":%q,"timestamp":%q,"version":"2.1.197","cwd":%q,%s}`,
		time.Now().UnixNano(), a.session, stamp(time.Now()), cmp.Or(a.dir, a.cwd), fields))
}

// works begins a turn with a prompt and one reply.
func (a *fakeClient) works(prompt string) {
	a.rests("busy")
	content, _ := json.Marshal(prompt) // a text
	a.hook("UserPromptSubmit", `,"prompt":`+string(content))
	a.record(`"type":"user","message":{"role":"user","content":` + string(content) + `}`)
	a.record(fmt.Sprintf(`"type":"assistant","message":{"id":"m-%d","model":"claude-haiku-4-5","usage":{"input_tokens":2,"cache_read_input_tokens":%d,"output_tokens":5}}`,
		time.Now().UnixNano(), a.context-2))
}

// ends ends a turn: an answer to a Stop hook makes the client continue.
func (a *fakeClient) ends() {
	for active := false; a.hook(
		"Stop",
		fmt.Sprintf(`,"stop_hook_active":%v`, active),
	) != ""; {
		active = true
	}
	a.record(`"type":"system","subtype":"turn_duration","durationMs":50`)
	a.rests("idle")
}

// clears does what /clear does.
func (a *fakeClient) clears() {
	a.hook("SessionEnd", `,"reason":"clear"`)
	a.starts("clear")
	a.record(`"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"}`)
	a.rests("idle")
}

// Type is the terminal: it gives the text to the client in that pane, or fails if that is not
// at a prompt. The turns that prompts begin end by themselves.
func (c *fakeClients) Type(
	ctx context.Context,
	at fleet.Place,
	text string,
	finish bool,
	idle func(context.Context) error,
) (typed bool, err error) {
	if finish {
		return false, errEmpty
	}
	c.mu.Lock()
	a := c.all[at.Pane]
	refuse := c.refuse
	busy := c.typing[at.Pane]
	c.typing[at.Pane] = true
	nap := a.nap
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.typing, at.Pane)
	}()
	if busy || at != (fleet.Place{
		Tmux:    "/tmp/tmux",
		Server:  77,
		Pane:    a.pane,
		Process: fleet.Process{PID: os.Getpid(), Start: a.start},
	}) {
		c.r.t.Errorf("%q is typed at %+v, while another is: %v", text, at, busy)
	}
	c.begun <- text
	if refuse != nil {
		return false, refuse
	}
	if err := idle(ctx); err != nil {
		return false, err
	}
	if nap != nil {
		<-nap
	}
	a.receives("typed: %s", text)
	if text == "/clear" || text == "/new" {
		a.clears()
	} else {
		a.works(text)
		a.ends()
	}
	return true, nil
}

// set changes what prevents typing.
func (c *fakeClients) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// doc writes a document.
func (c *fakeClients) doc(name, text string) string {
	c.r.t.Helper()
	path := filepath.Join(c.r.dir, name)
	noErrors(c.r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// hands calls sm handoff for an agent, and returns the rotation's id.
func (a *fakeClient) hands(path string) string {
	a.terminal.r.t.Helper()
	a.terminal.set(func() { a.terminal.line = []fleet.Process{{PID: os.Getpid(), Start: a.start}} })
	var x api.Scheduled
	answer := a.terminal.r.asksHandoff(a.agent, a.agent, path)
	noErrors(a.terminal.r.t, json.Unmarshal([]byte(answer.Body), &x))
	if answer.Code != http.StatusOK || x.Status != "scheduled" {
		a.terminal.r.t.Fatalf("sm handoff %s: %d %s", path, answer.Code, answer.Body)
	}
	return x.ID
}

func (r *rig) asksHandoff(target, requester, path string) answer {
	r.t.Helper()
	return r.ask(
		http.MethodPost,
		"/sessions/"+target+"/handoff",
		fmt.Sprintf(`{"requester_session_id":%q,"file_path":%q}`, requester, path),
	)
}

// handoffs returns all handoffs of the observer.
func (r *rig) handoffs() []api.Handoff {
	r.t.Helper()
	var list api.Handoffs
	noErrors(r.t, json.Unmarshal([]byte(r.ask(http.MethodGet, "/handoffs", "").Body), &list))
	return list.Handoffs
}

// handoffIs waits until a handoff has a state, such as "failed: file_gone".
func (r *rig) handoffIs(id, state string) (h api.Handoff) {
	r.t.Helper()
	r.until(id+" is "+state, func() bool {
		all := r.handoffs()
		i := slices.IndexFunc(all, func(h api.Handoff) bool { return h.ID == id })
		if i < 0 {
			return false
		}
		h = all[i]
		return h.State == state || h.State+": "+h.Reason == state ||
			h.State+", waiting: "+h.Waiting == state
	})
	if state == "confirmed" {
		r.untilTyped() // the prompt of the handoff begins a turn, which ends by itself
	}
	return h
}

// untilTyped waits until nothing is being typed, and the turns that typed texts began have
// ended.
func (r *rig) untilTyped() {
	r.t.Helper()
	c, ok := r.o.Terminal.(*fakeClients)
	if !ok {
		return
	}
	r.until("nothing is typed", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.typing) == 0
	})
}

var (
	errDraft = refused("draft")
	errEmpty = errors.New("the box is empty")
)

// ends stops the observer when nothing is being typed: a client within a turn would find no
// observer.
func (r *rig) ends() {
	r.t.Helper()
	r.untilTyped()
}

// refused is an error of a terminal.
type refused string

func (r refused) Error() string { return string(r) }
func (r refused) Word() string  { return string(r) }
