//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sm/observer/api"
	"sm/transcript/claude/hook"
)

// TestDeliveryFileLimit: while no byte can be written messages are refused as
// not stored, hooks get nothing though messages wait, and readings go on; a
// refused message that is sent again later is accepted, and all is heard once.
func TestDeliveryFileLimit(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.as = []string{quickName}
	d.vars = plentiful
	agent := newStandIn(d, "w1", "em", 0)
	agent.calm = func() bool { return true }
	agent.context = 90_000 // the first replies make it large enough for a notice
	s := newSender(d, "s", "w1")
	d.start()
	agent.must(agent.prompts("Go on."))
	d.eventually("the agent is known", func() string {
		agent.tell(hook.Payload{Event: hook.SessionStart, Source: "startup"})
		_, err := d.api.Session(t.Context(), "w1")
		return message(err)
	})
	n := 0
	send := func() bool {
		word := fmt.Sprintf("s-%d", n)
		text := word + strings.Repeat(" and more", 400)
		return s.send("w1", api.NewMessage{
			ID:   word,
			From: "s",
			Text: text,
			Mode: "urgent",
		})
	}
	accepted := func() {
		t.Helper()
		d.eventually("a message is accepted", func() string {
			if !send() {
				return fmt.Sprint(s.answers)
			}
			return ""
		})
	}
	for range 2 {
		for range 3 {
			n++
			accepted()
		}
		var limit unix.Rlimit
		if err := unix.Prlimit(
			d.cmd.Process.Pid,
			unix.RLIMIT_FSIZE,
			nil,
			&limit,
		); err != nil {
			t.Fatal(err)
		}
		none := unix.Rlimit{Max: limit.Max}
		if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &none, nil); err != nil {
			t.Fatal(err)
		}

		d.eventually("a message is refused", func() string {
			n++
			before := s.answers[http.StatusServiceUnavailable]
			if send(); s.answers[http.StatusServiceUnavailable] == before {
				return fmt.Sprint(s.answers)
			}
			return ""
		})
		for _, e := range []hook.Event{
			hook.UserPromptSubmit,
			hook.PostToolUse,
			hook.Stop,
			hook.PostToolUse,
		} {
			if agent.tell(hook.Payload{Event: e}) {
				t.Errorf("%s was answered, though no offer can be stored", e)
			}
		}
		agent.reply() // perhaps one that is to be warned of
		d.eventually("readings go on", func() string {
			for name, v := range d.series() {
				if strings.HasPrefix(name, "agent_session_context_tokens{") &&
					int(v) == agent.context {
					return ""
				}
			}
			return fmt.Sprintf("no context of %d", agent.context)
		})
		if send() {
			t.Error("accepted, though nothing can be stored")
		}

		if err := unix.Prlimit(
			d.cmd.Process.Pid,
			unix.RLIMIT_FSIZE,
			&limit,
			nil,
		); err != nil {
			t.Fatal(err)
		}
		accepted()
	}
	queue := d.heardAll(2*time.Minute, func(api.Message) bool {
		agent.reply()
		agent.tell(hook.Payload{Event: hook.PostToolUse})
		agent.tell(hook.Payload{Event: hook.Stop})
		return true
	})
	o := judge([]*sender{s}, agent.heard, queue)
	o.report(t)
}
