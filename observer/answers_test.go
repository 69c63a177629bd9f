package observer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// newDesk returns an observer with an agent "em" in session uuid(1), for which messages of
// all modes wait.
func newDesk(t *testing.T) *rig {
	r := newWatched(t)
	r.o.Queue.PerSenderMinute = 0
	r.start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	for _, mode := range []string{"sequential", "important", "urgent"} {
		r.sends("em", mode, mode)
	}
	return r
}

// TestAnswersCarry tests which messages the replies to a hook carry. Claude Code
// before 2.1.175 rejects context in the reply to a Stop hook, so there all
// messages come between tools and with prompts.
func TestAnswersCarry(t *testing.T) {
	t.Parallel()
	all := []string{"urgent", "important", "sequential"}
	soon := []string{"urgent", "important"}

	for _, c := range []struct {
		name, event, fields, version string
		want                         []string
	}{
		{"between tools", "PostToolUse", "", "", soon},
		{"with a prompt", "UserPromptSubmit", "", "", soon},
		{"at the end of a turn", "Stop", `,"stop_hook_active":true`, "", all},
		{"at the start", "SessionStart", `,"source":"startup"`, "", all},
		{"after a compaction", "SessionStart", `,"source":"compact"`, "", all},
		{"before a compaction", "PreCompact", `,"trigger":"auto"`, "", nil},
		{"unknown event", "Whatever", "", "", nil},
		{"tool of a subagent", "PostToolUse", `,"agent_id":"a1"`, "", nil},
		{"end of a subagent", "Stop", `,"agent_id":"a1"`, "", nil},
		{"malformed subagent", "SessionStart", `,"agent_id":7`, "", nil},
		{"end of a turn, old client", "Stop", "", "2.1.174", nil},
		{"end of a turn, new client", "Stop", "", "2.1.175", all},
		{"between tools, old client", "PostToolUse", "", "2.1.174", all},
		{"between tools, new client", "PostToolUse", "", "2.1.175", soon},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newDesk(t)
			if c.version != "" {
				r.write(
					uuid(1),
					strings.Replace(
						prompt(ago(time.Minute), "p", "Go on."),
						"2.1.197",
						c.version,
						1,
					),
				)
				r.until(
					"the record is read",
					func() bool { return r.session("em").Version == c.version },
				)
			}

			var got []string
			for range len(all) + 1 {
				if line := r.fire("em", uuid(1), c.event, c.fields); line != "" {
					got = append(got, strings.Fields(line)[2])
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopIsAnsweredEightTimesInARow tests that an agent with many messages becomes idle in
// between: each answer to a Stop hook makes the client continue.
func TestStopIsAnsweredEightTimesInARow(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.o.Queue.PerSenderMinute = 0
	r.start()
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	for i := range 12 {
		r.sends("em", "sequential", fmt.Sprint("text ", i))
	}
	turn := func() (answered int) {
		for active := false; ; active = true {
			if r.fire(
				"em",
				uuid(1),
				"Stop",
				fmt.Sprintf(`,"stop_hook_active":%v`, active),
			) == "" {
				return answered
			}
			answered++
		}
	}
	if first, second, third := turn(), turn(), turn(); first != 8 || second != 4 ||
		third != 0 {
		t.Errorf("%d, %d and %d answers in a row, want 8, 4 and 0", first, second, third)
	}
}

// TestHooksWhileCatchingUp tests that no notice is sent before catch-up ends, and that hooks
// of that time are applied afterwards with their own times.
func TestHooksWhileCatchingUp(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.write(
		uuid(1),
		prompt(ago(9*time.Minute), "p1", "Go."),
		reply(ago(8*time.Minute), "m1", 60_000, 10),
	)
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
		{
			SessionID: uuid(1),
			Event:     hook.UserPromptSubmit,
		},
		{
			SessionID: uuid(1),
			Event:     hook.Stop,
		},
		{
			SessionID: uuid(2),
			Event:     hook.SessionStart,
			Source:    "clear",
		},
		{
			SessionID: uuid(2),
			Event:     hook.PreCompact,
			Trigger:   "manual",
		},
	} {
		p.SM.Agent = "em"
		// No other goroutine uses the state yet.
		now := began.Add(time.Duration(i) * time.Millisecond)
		agent, _ := app.core.hook(&p, now)
		if a, offered := app.core.answer(agent, &p, now); a != (hook.Answer{}) || offered != "" {
			t.Errorf("%s is answered with %+v", p.Event, a)
		}
	}
	if v := app.core.engine.Agent("em"); v.Compacting || v.Cycle != 1 {
		t.Errorf("notice before catch-up ended: %+v", v)
	}
	app.Start()
	defer r.stop()
	<-app.Ready()
	if s := r.session("em"); s.SessionID != uuid(2) || s.Cycle != 2 || !s.IsCompacting {
		t.Errorf("afterwards: %+v", s)
	}
	r.checkMail("afterwards, with none about the session that was left", "urgent waiting")
	if line := r.fire(
		"em",
		uuid(2),
		"PostToolUse",
		"",
	); !strings.HasPrefix(
		line,
		"[sm message] urgent #",
	) {
		t.Errorf("the agent got %q", line)
	}
}

// TestAnswerCutOff tests that a message in an answer that came too late for the client is in
// the answer to the next hook.
func TestAnswerCutOff(t *testing.T) {
	t.Parallel()
	r := newDesk(t)
	r.occupy()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	p := hook.Payload{SessionID: uuid(1), Event: hook.PostToolUse}
	p.SM.Agent = "em"
	if answer, err := r.app.Hook(short, &p); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v, error %v", answer, err)
	}
	noErrors(t, r.app.do(t.Context(), func(c *core) { c.writer.busy = false }))
	if line := r.fire("em", uuid(1), "PostToolUse", ""); !strings.Contains(line, "urgent") {
		t.Errorf("the next hook gets %q", line)
	}
}

// occupy makes the loop wait for a transaction that does not end.
func (r *rig) occupy() {
	r.until("no transaction runs", func() (free bool) {
		noErrors(r.t, r.app.do(r.t.Context(), func(c *core) {
			free = !c.writer.busy
			c.writer.busy = true
		}))
		return free
	})
}

// TestSlowFailure tests that requests that wait for a transaction are refused when it fails,
// however long that takes.
func TestSlowFailure(t *testing.T) {
	t.Parallel()
	r := newDesk(t)
	r.occupy()
	answered := make(chan answer, 1)
	go func() {
		a, _ := r.try(http.MethodPost, "/sessions/em/messages", `{"text":"x","from":"y"}`)
		answered <- a
	}()
	r.until("the request waits", func() (waits bool) {
		noErrors(t, r.app.do(t.Context(), func(c *core) { waits = len(c.waiting) > 0 }))
		return waits
	})
	noErrors(t, r.app.do(t.Context(), func(c *core) {
		c.writer.last = time.Now().Add(-time.Minute)
		c.writer.done <- &batch{err: errors.New("the disk is broken")}
	}))
	if a := <-answered; a.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// TestCompactedBesideSubagent tests that an agent gets its messages after its own compaction,
// though the hook does not show that it is not a subagent's.
func TestCompactedBesideSubagent(t *testing.T) {
	t.Parallel()
	r := newDesk(t)
	r.write(uuid(1), reply(ago(2*time.Minute), "m1", 150_000, 5))
	side := strings.TrimSuffix(r.transcript(uuid(1)), ".jsonl") + "/subagents/agent-7.jsonl"
	appendLines(t, side, reply(ago(20*time.Second), "s1", 20_000, 5))
	r.write(uuid(1), boundary(stamp(time.Now()), "b1", "auto", 150_000))
	r.until("the boundary is read", func() bool { return r.session("em").Cycle == 2 })
	if r.fire("em", uuid(1), "SessionStart", `,"source":"compact"`) == "" {
		t.Error("no message")
	}
}
