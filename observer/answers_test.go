package observer

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// newDesk is an observer with an agent "em" in session uuid(1), for which messages of all
// modes wait.
func newDesk(t *testing.T) *rig {
	checkAppLeaks(t)
	r := newWatched(t)
	r.o.Queue.PerSenderMinute = 0
	r.start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	for _, mode := range []string{"sequential", "important", "urgent"} {
		r.sends("em", mode, mode)
	}
	return r
}

// TestAnswersCarry: which messages the answers to a hook carry, until there are none.
func TestAnswersCarry(t *testing.T) {
	all, soon, none := []string{"urgent", "important", "sequential"}, []string{"urgent", "important"}, []string(nil)
	for _, c := range []struct {
		name, event, fields string
		want                []string
	}{
		{"between tools", "PostToolUse", "", soon},
		{"with a prompt", "UserPromptSubmit", "", soon},
		{"at the end of a turn", "Stop", `,"stop_hook_active":true`, all},
		{"at the start", "SessionStart", `,"source":"startup"`, all},
		{"after a compaction", "SessionStart", `,"source":"compact"`, all},
		{"before a compaction: the client gives it to the summariser", "PreCompact", `,"trigger":"auto"`, none},
		{"after it", "PostCompact", `,"trigger":"auto"`, none},
		{"before a tool", "PreToolUse", "", none},
		{"at the end of a session", "SessionEnd", `,"reason":"clear"`, none},
		{"of a notification", "Notification", "", none},
		{"of an event that is not known", "Whatever", "", none},
		{"of a subagent's tool", "PostToolUse", `,"agent_id":"a1"`, none},
		{"of a subagent's end", "Stop", `,"agent_id":"a1"`, none},
		{"of an odd subagent", "SessionStart", `,"agent_id":7`, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newDesk(t)
			var got []string
			for range 4 {
				if line := r.fire("em", uuid(1), c.event, c.fields); line != "" {
					text, id := strings.TrimPrefix(line, "[sm message] "), idOf(line)
					got = append(got, strings.TrimSuffix(text, " #"+id))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
			state := map[string]string{}
			for _, mode := range all {
				state[mode] = mode + " waiting"
			}
			for _, mode := range c.want {
				state[mode] = mode + " offered"
			}
			r.checkMail("afterwards", state["sequential"], state["important"], state["urgent"])
			r.stop()
		})
	}
}

// TestAnswersByClientVersion: before 2.1.175 the client rejects what the answer to a Stop hook says, so that all messages
// come between tools and with prompts there. The newest record decides, and without one a client counts as new.
func TestAnswersByClientVersion(t *testing.T) {
	all, soon, none := []string{"urgent", "important", "sequential"}, []string{"urgent", "important"}, []string(nil)
	for _, c := range []struct {
		versions []string
		event    string
		want     []string
	}{
		{[]string{"2.1.174"}, "Stop", none},
		{[]string{"2.1.175"}, "Stop", all},
		{nil, "Stop", all},
		{[]string{"2.1.150"}, "PostToolUse", all},
		{[]string{"2.1.150"}, "UserPromptSubmit", all},
		{[]string{"2.1.150"}, "SessionStart", all},
		{[]string{"2.1.175"}, "PostToolUse", soon},
		{nil, "UserPromptSubmit", soon},
		{[]string{"2.1.150", "2.1.330"}, "PostToolUse", soon},
		{[]string{"2.1.150", "2.1.330"}, "Stop", all},
		{[]string{"2.1.330", "2.1.150"}, "Stop", none},
	} {
		t.Run(fmt.Sprint(c.event, c.versions), func(t *testing.T) {
			r := newDesk(t)
			for i, version := range c.versions {
				r.write(uuid(1), strings.Replace(prompt(ago(time.Minute), fmt.Sprint("p", i), "Go on."), `"2.1.197"`, `"`+version+`"`, 1))
			}
			r.until("the records are read", func() bool { return len(c.versions) == 0 || r.session("em").Version == c.versions[len(c.versions)-1] })
			var got []string
			for range 4 {
				if line := r.fire("em", uuid(1), c.event, `,"source":"resume"`); line != "" {
					text, id := strings.TrimPrefix(line, "[sm message] "), idOf(line)
					got = append(got, strings.TrimSuffix(text, " #"+id))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
			r.stop()
		})
	}
}

// TestAnswersToOthers: what waits for one agent is told to no other, whatever they share.
func TestAnswersToOthers(t *testing.T) {
	r := newDesk(t)
	for _, x := range [][2]string{{"other", uuid(2)}, {"", uuid(3)}, {"em2", uuid(4)}} {
		if line := r.fire(x[0], x[1], "Stop", ""); line != "" {
			t.Errorf("%s hears %q", x, line)
		}
	}
	if line := r.fire("em", uuid(5), "SessionStart", `,"source":"clear"`); !strings.HasPrefix(line, "[sm message] urgent") {
		t.Errorf("after /clear the agent hears %q", line)
	}
	r.stop()
}

// TestStopIsAnsweredEightTimesInARow: each answer has the client go on, so that an agent
// with many messages must come to rest in between.
func TestStopIsAnsweredEightTimesInARow(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.o.Queue.PerSenderMinute = 0
	r.start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	for i := range 12 {
		r.sends("em", "sequential", fmt.Sprint("text ", i))
	}
	turn := func() (answered int) {
		for active := false; ; active = true {
			if r.fire("em", uuid(1), "Stop", fmt.Sprintf(`,"stop_hook_active":%v`, active)) == "" {
				return answered
			}
			answered++
		}
	}
	if first, second, third := turn(), turn(), turn(); first != 8 || second != 4 || third != 0 {
		t.Errorf("%d, %d and %d answers in a row, want 8, 4 and 0", first, second, third)
	}
	r.stop()
}

// TestAnswerIsStoredFirst: an answer that was given is known after a kill, and what it
// carried is not given again.
func TestAnswerIsStoredFirst(t *testing.T) {
	r := newDesk(t)
	if line := r.fire("em", uuid(1), "PostToolUse", ""); !strings.HasPrefix(line, "[sm message] urgent #") {
		t.Errorf("heard %q", line)
	}
	r.kill()
	r.start()
	want := []string{"sequential waiting", "important waiting", "urgent offered"}
	r.checkMail("after the kill", want...)
	if line := r.fire("em", uuid(1), "PostToolUse", ""); !strings.HasPrefix(line, "[sm message] important #") {
		t.Errorf("heard %q", line)
	}
	r.stop()
}

// TestMessageIsStoredFirst: what was accepted is known after a kill.
func TestMessageIsStoredFirst(t *testing.T) {
	r := newDesk(t)
	r.kill()
	r.start()
	r.checkMail("after the kill", "sequential waiting", "important waiting", "urgent waiting")
	r.stop()
}

// refuseWrites lets no file grow until allow is called.
func refuseWrites(t *testing.T) (allow func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	noErrors(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	tight := limit
	tight.Cur = 0
	noErrors(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight))
	allowed := false
	allow = func() {
		if !allowed {
			allowed = true
			noErrors(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
			signal.Reset(syscall.SIGXFSZ)
		}
	}
	t.Cleanup(allow)
	return allow
}

// TestNothingIsSaidThatIsNotStored: while the disk refuses, messages are refused, hooks
// get no answer, and what was about to be told waits. Afterwards it is told.
func TestNothingIsSaidThatIsNotStored(t *testing.T) {
	// In a process of its own, where go test does not keep a log of the files that tests open: that could not grow either, and
	// makes the whole package fail.
	if alone := "SM_TEST_ALONE"; os.Getenv(alone) == "" {
		program, err := os.Executable()
		noErrors(t, err)
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "PASS\n") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	r := newDesk(t)
	r.until("all is stored", func() bool { return r.idle() })
	allow := refuseWrites(t)
	const full = `{"error":"the state cannot be stored; free some space, then send it again"}` + "\n"
	for name, a := range map[string]answer{
		"a message":       r.ask(http.MethodPost, "/sessions/em/messages", `{"text":"more"}`),
		"a registration":  r.ask(http.MethodPost, "/sessions", `{"id":"b"}`),
		"an event":        r.ask(http.MethodPost, "/hooks/context-usage", `{"session_id":"em","event":"compaction"}`),
		"a hook":          r.ask(http.MethodPost, "/hooks/claude", payload("em", uuid(1), "PostToolUse", "")),
		"the next hook":   r.ask(http.MethodPost, "/hooks/claude", payload("em", uuid(1), "Stop", "")),
		"another session": r.ask(http.MethodPost, "/hooks/claude", payload("em", uuid(2), "SessionStart", `,"source":"clear"`)),
	} {
		if a.Code != http.StatusServiceUnavailable || a.Body != full {
			t.Errorf("%s: %d %s", name, a.Code, a.Body)
		}
	}
	r.checkMail("that nobody has heard", "sequential waiting", "important waiting", "urgent waiting") // what was refused is not there
	allow()
	var heard []string
	r.until("all has been told", func() bool {
		a := r.ask(http.MethodPost, "/hooks/claude", payload("em", uuid(2), "Stop", `,"stop_hook_active":false`))
		if _, text, told := strings.Cut(a.Body, "[sm message] "); told && a.Code == http.StatusOK {
			word, _, _ := strings.Cut(text, " ")
			heard = append(heard, word)
		}
		return len(heard) == 3
	})
	if diff := cmp.Diff([]string{"urgent", "important", "sequential"}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	r.stop()
}

// idle says that there is nothing to store.
func (r *rig) idle() (idle bool) {
	r.t.Helper()
	noErrors(r.t, r.app.do(r.t.Context(), func(c *core) {
		b, any := c.take()
		idle = !any
		c.effects, c.waiting = b.effects, b.waiting
	}))
	return idle
}

// TestHooksWhileCatchingUp: before the history is known nobody is told anything; what hooks
// say then is taken in afterwards, as it was true.
func TestHooksWhileCatchingUp(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."), reply(ago(8*time.Minute), "m1", 60_000, 10))
	r.start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	r.sends("em", "urgent", "urgent")
	r.stop()
	r.write(uuid(1), reply(ago(50*time.Second), "m2", 120_000, 10))
	app, err := New(t.Context(), r.o)
	noErrors(t, err)
	r.app = app
	began := time.Now()
	for i, p := range []hook.Payload{
		{SessionID: uuid(1), Event: hook.UserPromptSubmit}, {SessionID: uuid(1), Event: hook.Stop},
		{SessionID: uuid(2), Event: hook.SessionStart, Source: "clear"}, {SessionID: uuid(2), Event: hook.PreCompact, Trigger: "manual"},
	} {
		p.SM.Agent = "em"
		// Nothing runs yet that could use the state too.
		now := began.Add(time.Duration(i) * time.Millisecond)
		agent, _ := app.core.hook(&p, now)
		if a, offered := app.core.delivery.answer(agent, &p, now); a != (hook.Answer{}) || offered != "" {
			t.Errorf("%s is answered with %+v", p.Event, a)
		}
	}
	if v, _ := app.core.engine.Agent("em"); v.Compacting || v.Cycle != 1 {
		t.Errorf("told before the past was known: %+v", v)
	}
	app.Start()
	<-app.Ready()
	if s := r.session("em"); s.SessionID != uuid(2) || s.Cycle != 2 || !s.IsCompacting {
		t.Errorf("afterwards: %+v", s)
	}
	r.checkMail("afterwards, with none about the session that was left", "urgent waiting")
	if line := r.fire("em", uuid(2), "PostToolUse", ""); !strings.HasPrefix(line, "[sm message] urgent #") {
		t.Errorf("the agent hears %q", line)
	}
	r.stop()
}

// TestHookRefused: what is no payload changes nothing; what is not known is counted.
func TestHookRefused(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t).start()
	for _, c := range []struct {
		method, body string
		code         int
	}{
		{http.MethodPost, "", 415}, {http.MethodPost, "Done.", 400}, {http.MethodPost, `["a"]`, 400}, {http.MethodPost, `{"session_id":"x"`, 400},
		{http.MethodPost, `{"hook_event_name":"StatusLine","session_id":"` + uuid(1) + `","context_window":[}`, 400},
		{http.MethodGet, "", 405},
		{http.MethodPost, `{}`, 204}, {http.MethodPost, `{"hook_event_name":"Stop"}`, 204}, {http.MethodPost, `{"hook_event_name":"Brandnew","session_id":"` + uuid(2) + `"}`, 204},
		{http.MethodPost, `{"hook_event_name":["Stop"],"session_id":7,"sm":{"agent":{},"pid":"x","at":"yesterday"}}`, 204},
	} {
		if a := r.ask(c.method, "/hooks/claude", c.body); a.Code != c.code {
			t.Errorf("%s %.80s: %d %s, want %d", c.method, c.body, a.Code, a.Body, c.code)
		}
	}
	var ids []string
	for _, s := range r.sessions() {
		ids = append(ids, s.ID)
	}
	if diff := cmp.Diff([]string{uuid(2)}, ids); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if v := r.scrape(); v[`sm_hook_events_total{event="other"}`] != 3 || v[`sm_hook_events_total{event="Stop"}`] != 1 {
		t.Errorf("counted: %v", having(v, "sm_hook_events_total"))
	}
	r.stop()
}
