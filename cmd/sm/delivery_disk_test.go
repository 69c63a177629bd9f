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

// faultRig is an observer whose disk fails, with one agent and one who sends to it.
type faultRig struct {
	*daemon
	agent  *standIn
	sender *sender
	n      int
	back   []time.Duration // how long after each fault a message was accepted again
	full   int             // answers 503
}

func newFaultRig(t *testing.T) *faultRig {
	r := &faultRig{daemon: newDaemon(t)}
	r.as = []string{quickName}
	r.vars = plentiful
	r.agent = newStandIn(r.daemon, "w1", "em", 0)
	r.agent.calm = func() bool { return true }
	r.agent.context = 90_000 // the first replies make it large enough for a notice
	r.sender = newSender(r.daemon, "s", "w1")
	return r
}

// begin starts the observer and makes the agent known.
func (r *faultRig) begin() {
	r.t.Helper()
	r.start()
	r.agent.write(`"type":"user","message":{"role":"user","content":"Go on."}`)
	r.eventually("the agent is known", func() string {
		r.agent.tell(hook.Payload{Event: hook.SessionStart, Source: "startup"})
		_, err := r.api.Session(r.t.Context(), "w1")
		return message(err)
	})
}

// send sends a message that has not been sent before, or the last one again, and returns the
// status.
func (r *faultRig) send(again bool) int {
	if !again {
		r.n++
	}
	word := fmt.Sprintf("s-%d", r.n)
	m := api.NewMessage{
		ID:   word,
		From: "s",
		Text: word + strings.Repeat(" and more", 400),
		Mode: "urgent",
	}
	before := r.sender.answers[http.StatusServiceUnavailable]
	if r.sender.send("w1", m, !again) {
		return http.StatusAccepted
	}
	if r.sender.answers[http.StatusServiceUnavailable] > before {
		r.full++
		return http.StatusServiceUnavailable
	}
	return 0
}

// accept sends one message until it is accepted.
func (r *faultRig) accept() {
	r.t.Helper()
	again := false
	r.eventually("a message is accepted", func() string {
		status := r.send(again)
		again = true
		if status != http.StatusAccepted {
			return fmt.Sprint("status ", status)
		}
		return ""
	})
}

// refused sends messages until one cannot be stored.
func (r *faultRig) refused() {
	r.t.Helper()
	r.eventually("503", func() string {
		if status := r.send(false); status != http.StatusServiceUnavailable {
			return fmt.Sprint("status ", status)
		}
		return ""
	})
}

// fails is what holds while the disk fails: messages are refused as not stored, hooks are
// answered with nothing though messages wait, and readings show in /metrics at once.
func (r *faultRig) fails() {
	r.t.Helper()
	r.refused()
	for _, e := range []hook.Event{hook.UserPromptSubmit, hook.PostToolUse, hook.Stop, hook.PostToolUse} {
		if r.agent.tell(hook.Payload{Event: e}) {
			r.t.Errorf("%s was answered, though no offer can be stored: %q", e, r.agent.heard[len(r.agent.heard)-1])
		}
	}
	r.agent.reply() // perhaps one that is to be warned of
	r.eventually("readings go on", func() string {
		got := 0.0
		for name, v := range r.series() {
			if strings.HasPrefix(name, "agent_session_context_tokens{") {
				got = v
			}
		}
		if int(got) != r.agent.context {
			return fmt.Sprintf("context %v, want %d", got, r.agent.context)
		}
		return ""
	})
	if status := r.send(true); status != http.StatusServiceUnavailable {
		r.t.Errorf("sent again: status %d", status)
	}
	// A sender without an acknowledgement sends again; any answer now is final.
	for word, m := range r.sender.sent {
		r.post("/sessions/"+m.to+"/messages", api.NewMessage{
			ID:   word,
			From: "s",
			Text: m.text,
			Mode: "urgent",
		})
	}
}

// recovers is what holds from the end of a fault on: the refused message, which is sent
// again under its id, is accepted.
func (r *faultRig) recovers() {
	r.t.Helper()
	began := time.Now()
	r.eventually("accepted again", func() string {
		if status := r.send(true); status != http.StatusAccepted {
			return fmt.Sprint("status ", status)
		}
		return ""
	})
	r.back = append(r.back, time.Since(began).Round(time.Millisecond))
}

// ends lets the agent get waiting messages, and judges.
func (r *faultRig) ends() {
	r.t.Helper()
	var queue api.Messages
	r.eventually("all is heard", func() string {
		r.agent.reply()
		r.agent.tell(hook.Payload{Event: hook.PostToolUse})
		r.agent.tell(hook.Payload{Event: hook.Stop})
		var err error
		if queue, err = r.api.Messages(r.t.Context(), "w1"); err != nil {
			return err.Error()
		}
		for _, m := range queue.Messages {
			if m.Status == "waiting" || m.Status == "offered" {
				return fmt.Sprintf("%+.200v", m)
			}
		}
		return ""
	})
	o := judge([]*sender{r.sender}, r.agent.heard, queue.Messages)
	for _, p := range o.problems {
		r.t.Error(p)
	}
	r.t.Logf("refused as not stored %d; accepted %d, heard once %d, heard twice %d, lost %d; notices heard %d, twice %d; accepted again after %v",
		r.full, o.Accepted, o.HeardOnce, o.HeardTwice, o.Lost, o.HeardNotices, o.DuplicateNotices, r.back)
}

// TestDeliveryFileLimit guards what happens when no byte can be written, and nothing else
// fails.
func TestDeliveryFileLimit(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	r.begin()
	for range 2 {
		for range 3 {
			r.accept()
		}
		var limit unix.Rlimit
		if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
			t.Fatal(err)
		}
		none := unix.Rlimit{Max: limit.Max}
		if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, &none, nil); err != nil {
			t.Fatal(err)
		}
		r.fails()
		if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
			t.Fatal(err)
		}
		r.recovers()
	}
	r.ends()
}
