//go:build realclient

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// clientRun is a running client and an observer that watches it.
type clientRun struct {
	t       *testing.T
	stub    *modelStub
	home    *clientHome
	sm      *daemon
	current string         // the session that the client is in
	turns   map[string]int // by session
}

// newClientRun returns a run of this client whose observer is not started yet.
func newClientRun(t *testing.T, client, program string) *clientRun {
	t.Helper()
	stub := newModelStub(t)
	home := newHomeOf(t, client, stub)
	if program == "" {
		program = buildProgram(t, home.dir)
	}
	return &clientRun{
		t:     t,
		stub:  stub,
		home:  home,
		sm:    home.watched(program),
		turns: map[string]int{},
	}
}

func (r *clientRun) prompt(steps ...modelStep) {
	r.t.Helper()
	r.stub.script(steps...)
	r.home.say("Go on.")
	r.turns[r.current]++
}

// held waits for a request that is held back.
func (r *clientRun) held() {
	r.t.Helper()
	r.stub.awaitHeld(r.t)
}

// unsaid returns why the model still has answers to give, or "".
func (r *clientRun) unsaid() string {
	said, left, wrong := r.stub.said()
	if left > 0 || said.Busy > 0 || len(wrong) > 0 {
		return fmt.Sprintf("%d answers are planned; wrong: %q; said: %+v", left, wrong, said)
	}
	return ""
}

// silence is how long an idle client must write nothing until its turn counts as ended.
const silence = 3 * time.Second

// ended waits for the end of a turn: the client records it or, rarely, only stops writing.
func (r *clientRun) ended(what string) {
	r.t.Helper()
	var last string
	since := time.Now()
	eventually(r.t, what+": the turn ends", func() string {
		if unsaid := r.unsaid(); unsaid != "" {
			return unsaid
		}
		busy := r.home.busy()
		_, size := volume(r.t, r.home.projects)
		status, _ := r.home.status()
		if now := fmt.Sprint(size, status); now != last {
			last = now
			since = time.Now()
		}
		if status == "idle" && time.Since(since) > silence {
			return ""
		}
		return busy
	})
}

// torn begins a turn with an answer that breaks off, and waits until the client has recorded
// it. (Text that the client has not shown when it is interrupted is dropped, and may be
// recorded or not.)
func (r *clientRun) torn(steps ...modelStep) {
	r.t.Helper()
	before, _, _ := r.stub.said()
	r.prompt(steps...)
	eventually(r.t, "the client records the partial answer", func() string {
		said, _, _ := r.stub.said()
		if last := r.home.lastOf(r.current); said.Cuts == before.Cuts ||
			last.total() != said.Context {
			return fmt.Sprintf("%d in the status line; said: %+v", last.total(), said)
		}
		return ""
	})
}

func (r *clientRun) keys(keys ...string) {
	r.t.Helper()
	r.home.do("", append([]string{"send-keys", "-t", "agent"}, keys...)...)
}

// install runs sm install, as the user does.
func (r *clientRun) install(args ...string) {
	r.t.Helper()
	cmd := r.sm.command(append([]string{"install", "--socket", r.sm.socket()}, args...)...)
	cmd.Env = []string{
		"PATH=" + filepath.Dir(r.home.client) + ":" + os.Getenv("PATH"),
		"HOME=" + r.home.home,
		"TMPDIR=" + r.home.dir,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("sm install: %v\n%s", err, out)
	}
}

// orNone returns the value of a pointer as text.
func orNone[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// volume adds up the lines of all transcripts. The client never rewrites one, so each was
// read once.
func volume(t *testing.T, projects string) (lines, size float64) {
	t.Helper()
	err := filepath.WalkDir(projects, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		lines += float64(bytes.Count(text, []byte("\n")))
		size += float64(len(text))
		return err
	})
	noErrors(t, err)
	return lines, size
}

// boundary is a compaction in a transcript.
type boundary struct {
	Subtype  string `json:"subtype"`
	UUID     string `json:"uuid"`
	Metadata struct {
		Trigger     string `json:"trigger"`
		Precomputed bool   `json:"precomputed"`
	} `json:"compactMetadata"`
}

// boundaries reads a session's compactions without code of sm; each uuid once.
func boundaries(t *testing.T, projects, id string) (found []boundary) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(projects, "*", id+".jsonl"))
	if err != nil || len(paths) > 1 {
		t.Fatalf("transcripts of %s: %q, %v", id, paths, err)
	}
	for _, path := range paths {
		data := readFile(t, path)
		for line := range bytes.Lines(data) {
			var b boundary
			if json.Unmarshal(line, &b) != nil || b.Subtype != "compact_boundary" {
				continue
			}
			if !slices.ContainsFunc(
				found,
				func(x boundary) bool { return x.UUID == b.UUID },
			) {
				found = append(found, b)
			}
		}
	}
	return found
}

// policyRun is a client with sm's hooks and status line in its settings, and the observer
// that answers them. Messages to the agent are read from the client's transcripts and from
// the requests to the model.
type policyRun struct {
	*clientRun
	agent     string        // its id
	sessions  []string      // its sessions so far
	drifts    map[int64]int // how often each was seen at the end of a turn
	kills     int           // of the observer
	unwritten bool          // the client has not recorded a compaction yet
}

// newPolicyRun installs sm into the settings and starts the observer. The client gets these
// variables.
func newPolicyRun(t *testing.T, vars ...string) *policyRun {
	t.Helper()
	return newPolicyRunOf(t, realClient(t), vars...)
}

// newPolicyRunOf is the same for a given client.
func newPolicyRunOf(t *testing.T, client string, vars ...string) *policyRun {
	t.Helper()
	r := &policyRun{clientRun: newClientRun(t, client, ""), drifts: map[int64]int{}}
	r.stub.spare = true
	r.home.pane = true
	r.home.extra = vars
	if os.Getenv("SM_TMUX") == "" {
		r.sm.vars = []string{"PATH=" + r.home.dir} // without tmux, messages arrive by hooks only
	}
	r.install()
	for _, v := range vars {
		if id, ok := strings.CutPrefix(v, "CLAUDE_SESSION_MANAGER_ID="); ok {
			r.agent = id
		}
	}
	r.sm.start()
	return r
}

// begin starts the client with a context of that size.
func (r *policyRun) begin(tokens int64, args ...string) {
	r.t.Helper()
	last := r.home.start(args...)
	eventually(r.t, "the status line names the session", func() string {
		_, session := r.home.status()
		if last = r.home.lastOf(session); session == "" || last.SessionID != session {
			return "its status line is not of " + session // but of the previous client
		}
		return ""
	})
	r.enter(last.SessionID)
	r.stub.resize(tokens)
	if r.agent == "" {
		eventually(r.t, "the observer knows the agent", func() string {
			s, there := r.sm.byID()[r.current]
			if r.agent = s.ID; !there || s.Pane == "" {
				return "it does not"
			}
			return ""
		})
	}
}

func (r *policyRun) enter(session string) {
	r.current = session
	if !slices.Contains(r.sessions, session) {
		r.sessions = append(r.sessions, session)
	}
}

// restart kills the observer without warning, runs meanwhile, and starts it again.
func (r *policyRun) restart(meanwhile func()) {
	r.t.Helper()
	r.sm.kill()
	r.kills++
	if meanwhile != nil {
		meanwhile()
	}
	r.sm.start()
}

// turn runs a prompt to its end.
func (r *policyRun) turn(what string, steps ...modelStep) {
	r.t.Helper()
	r.prompt(steps...)
	r.ended(what)
	r.agree(what)
}

// me returns what the observer shows of the agent.
func (r *policyRun) me() api.Session {
	r.t.Helper()
	s, err := r.sm.api.Session(r.t.Context(), r.agent)
	noErrors(r.t, err)
	return s
}

// agree waits until the status line has the model's figures, and compares the observer with
// both.
func (r *policyRun) agree(what string) {
	r.t.Helper()
	said, _, _ := r.stub.said()
	want := said.Context
	if said.Blank {
		want = 0
	}
	var last sample
	var s api.Session
	eventually(r.t, what+": status line and observer", func() string {
		if last = r.home.lastOf(r.current); last.total() != want {
			return fmt.Sprintf(
				"the status line shows %d tokens, the model has %d",
				last.total(),
				want,
			)
		}
		switch s = r.me(); {
		case s.SessionID != r.current:
			return "the agent is in " + s.SessionID
		case want > 0 && s.DriftTokens == nil:
			return "nothing is known of drift: " + s.CrossCheck
		case orNone(s.TokensUsed) != orNone(nonZero(want)) && !r.unwritten:
			return "tokens_used is " + orNone(s.TokensUsed)
		}
		return ""
	})
	if s.DriftTokens != nil {
		r.drifts[*s.DriftTokens]++
		if *s.DriftTokens != 0 {
			r.t.Errorf("%s: drift of %d tokens", what, *s.DriftTokens)
		}
	}
	if want > 0 && orNone(s.UsedPercentage) != orNone(last.Window.Used) {
		r.t.Errorf(
			"%s: used_percentage is %s, in the status line %s",
			what,
			orNone(s.UsedPercentage),
			orNone(last.Window.Used),
		)
	}
}

// notice returns the message with the notice of the present cycle from the queue.
func (r *policyRun) notice(kind string) (m api.Message, there bool) {
	r.t.Helper()
	key := fmt.Sprintf("%s/%d/%s", r.agent, r.me().Cycle, kind)
	return r.find(func(m api.Message) bool { return m.Key == key })
}

func (r *policyRun) message(id string) (m api.Message, there bool) {
	r.t.Helper()
	return r.find(func(m api.Message) bool { return m.ID == id })
}

func (r *policyRun) find(is func(api.Message) bool) (m api.Message, there bool) {
	r.t.Helper()
	found := r.messages(is)
	if len(found) == 0 {
		return m, false
	}
	return found[0], true
}

// noticed waits until the notice of the present cycle has one of these states in the queue.
func (r *policyRun) noticed(kind string, as ...string) (m api.Message) {
	r.t.Helper()
	eventually(r.t, "the "+kind+" is "+strings.Join(as, " or "), func() string {
		var there bool
		if m, there = r.notice(kind); !there {
			return "there is none"
		}
		if !slices.Contains(as, m.Status) {
			return "it is " + m.Status
		}
		return ""
	})
	return m
}

// messages lists the messages in the observer's queue, all of them for nil.
func (r *policyRun) messages(is func(api.Message) bool) []api.Message {
	r.t.Helper()
	all, err := r.sm.api.Messages(r.t.Context(), "")
	noErrors(r.t, err)
	return slices.DeleteFunc(
		all.Messages,
		func(m api.Message) bool { return is != nil && !is(m) },
	)
}

// send puts a message into the agent's queue.
func (r *policyRun) send(m api.NewMessage) (id string) {
	r.t.Helper()
	sent, err := r.sm.api.Send(r.t.Context(), r.agent, m)
	noErrors(r.t, err)
	return sent.ID
}

// compact compacts by hand. Sometimes the client writes its boundary only with the next
// prompt.
func (r *policyRun) compact() {
	r.t.Helper()
	before, _, _ := r.stub.said()
	made := len(boundaries(r.t, r.home.projects, r.current))
	since := time.Now()
	r.home.say("/compact")
	r.unwritten = false
	eventually(r.t, "/compact: the client compacts", func() string {
		switch said, _, _ := r.stub.said(); {
		case said.Compactions == before.Compactions:
			return "no summary"
		case len(boundaries(r.t, r.home.projects, r.current)) > made:
		case time.Since(since) < 2*silence:
			return "no boundary"
		default:
			r.t.Log("/compact: the client has not written its boundary")
			r.unwritten = true
		}
		return ""
	})
	r.agree("/compact")
	r.unwritten = false
}

// context returns the size of the context.
func (r *policyRun) context() int64 {
	r.stub.mu.Lock()
	defer r.stub.mu.Unlock()
	return r.stub.context
}

// receives waits until these have been received, with as many turns as that takes: a message
// that is certainly lost is offered again at a later hook.
func (r *policyRun) receives(want ...string) {
	r.t.Helper()
	for range 10 {
		open := r.messages(func(m api.Message) bool {
			return m.To == r.agent &&
				(m.Status == "waiting" || m.Status == "offered")
		})
		eventually(r.t, "offered messages are received, or wait again", func() string {
			for i, m := range open {
				if open[i], _ = r.message(m.ID); open[i].Status == "offered" {
					return fmt.Sprintf("%+v", open[i])
				}
			}
			return ""
		})
		tally := r.tally()
		if !slices.ContainsFunc(want, func(w string) bool { return tally[w] == 0 }) {
			return
		}
		r.turn("once more", modelStep{grow: 100, tools: 1}, modelStep{grow: 100})
	}
	r.t.Fatalf("got %[2]v, want %[1]v", want, r.tally())
}

// launch returns the tmux command that runs the client, by env's arguments, in a new pane or
// in the common one.
func (h *clientHome) launch(words []string) []string {
	newPane := []string{
		"new-session",
		"-d",
		"-s",
		"agent",
		"-x",
		"140",
		"-y",
		"50",
		"-c",
		h.project,
	}
	if !h.pane {
		return slices.Concat(newPane, []string{"env", "-i"}, words)
	}
	argv := slices.Concat(
		[]string{"sh", "-c", `exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh"},
		words,
	)
	if _, err := h.command("", "has-session", "-t", "agent"); err == nil {
		return slices.Concat(
			[]string{"respawn-pane", "-k", "-t", "agent", "-c", h.project},
			argv,
		)
	}
	return slices.Concat(
		newPane,
		argv,
		[]string{";", "set-option", "-w", "-t", "agent", "remain-on-exit", "on"},
	)
}

// nonZero returns a pointer to n, nil for 0.
func nonZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
