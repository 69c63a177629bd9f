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

// TestDeliveryFileLimit tests that while nothing can be written, messages are refused, hooks
// get no messages and readings continue; and that a refused message is accepted when it is
// sent again later, and all are received once.
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
		agent.fire(hook.Payload{Event: hook.SessionStart, Source: "startup"})
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
		noErrors(t, unix.Prlimit(
			d.cmd.Process.Pid,
			unix.RLIMIT_FSIZE,
			nil,
			&limit,
		))
		none := unix.Rlimit{Max: limit.Max}
		noErrors(t, unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &none, nil))

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
			if agent.fire(hook.Payload{Event: e}) {
				t.Errorf("%s was answered although no offer can be stored", e)
			}
		}
		agent.reply() // may need a warning
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
			t.Error("accepted although nothing can be stored")
		}

		noErrors(t, unix.Prlimit(
			d.cmd.Process.Pid,
			unix.RLIMIT_FSIZE,
			&limit,
			nil,
		))
		accepted()
	}
	queue := d.delivered(2*time.Minute, func(api.Message) bool {
		agent.reply()
		agent.fire(hook.Payload{Event: hook.PostToolUse})
		agent.fire(hook.Payload{Event: hook.Stop})
		return true
	})
	o := judge([]*sender{s}, agent.received, queue)
	o.report(t)
}
