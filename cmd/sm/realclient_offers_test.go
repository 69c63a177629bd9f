//go:build realclient

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// offersRun sends message after message to one agent, by each carrier event, with
// disturbances.
type offersRun struct {
	*policyRun
	sent int
	way  map[string]offerWay // by the message's id
}

// offerWay is how messages are sent, and how the turn ends.
type offerWay struct {
	event string // whose hook carries them
	tools int    // parallel calls of tools
	mode  string
	n     int    // messages
	end   string // the event at the offer, or at the model's next request
}

var offerWays = []offerWay{
	{"PostToolUse", 1, "important", 1, ""},
	{"PostToolUse", 4, "urgent", 4, ""},
	{"PostToolUse", 1, "urgent", 1, "Escape"},
	{"PostToolUse", 1, "urgent", 1, "Escape as the model is asked"},
	{"PostToolUse", 4, "urgent", 3, "Escape"},
	{"PostToolUse", 4, "urgent", 2, "the client is killed"},
	{"PostToolUse", 4, "urgent", 2, "the observer is killed"},
	{"UserPromptSubmit", 1, "urgent", 1, ""},
	{"UserPromptSubmit", 4, "important", 3, ""},
	{"UserPromptSubmit", 0, "urgent", 1, "Escape"},
	{"UserPromptSubmit", 0, "urgent", 1, "the client is killed"},
	{"Stop", 1, "sequential", 1, ""},
	{"Stop", 4, "sequential", 3, ""},
	{"Stop", 0, "sequential", 1, "Escape"},
	{"Stop", 0, "sequential", 1, "Escape as the model is asked"},
	{"Stop", 0, "sequential", 1, "the client is killed"},
	{"SessionStart of a resume", 1, "sequential", 1, ""},
	{"SessionStart of a resume", 1, "urgent", 1, "the client is killed"},
	{"SessionStart of a compaction", 1, "sequential", 1, ""},
	{"SessionStart of a clear", 1, "sequential", 1, ""},
}

// TestRealClientPolicyOffers makes SM_OFFERS offers. Each is confirmed by the transcript, or
// repeated.
func TestRealClientPolicyOffers(t *testing.T) {
	goal := 24
	if n, err := strconv.Atoi(os.Getenv("SM_OFFERS")); err == nil && n > 0 {
		goal = n
	}
	r := &offersRun{
		policyRun: newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker"),
		way:       map[string]offerWay{},
	}
	r.begin(20_000)
	r.turn("the first turn", modelStep{grow: 10, tools: 1}, modelStep{grow: 10})
	for i := 0; r.offers() < goal; i++ {
		r.run(offerWays[i%len(offerWays)])
	}
	r.settle()
	r.judge(goal)
}

func (r *offersRun) run(w offerWay) {
	r.t.Helper()
	asked := strings.HasSuffix(w.end, "asked")
	steps := []modelStep{{grow: 10, tools: w.tools, hold: true}}
	if w.tools > 0 || asked {
		steps = append(steps, modelStep{grow: 10, hold: asked})
	}
	offered := func() {}
	switch w.event {
	case "PostToolUse", "Stop": // later than with the prompt
		r.prompt(steps...)
		r.held()
		r.send(w)
		offered = r.nextOffer()
		r.stub.letGo()
	case "UserPromptSubmit":
		r.send(w)
		offered = r.nextOffer()
		steps[0].hold = w.end != ""
		r.prompt(steps...)
	default:
		r.sessionStarts(w)
		if w.end == "" {
			steps[0].hold = false
			r.prompt(steps...)
		}
	}
	switch w.end {
	case "":
		r.ended(w.event)
	case "Escape":
		offered()
		r.escape()
	case "the client is killed":
		offered()
		r.killed()
	case "the observer is killed":
		offered()
		r.restart(nil)
		r.ended(w.event)
	default:
		r.held()
		r.escape()
	}
}

// sessionStarts sends messages for a session that starts again.
func (r *offersRun) sessionStarts(w offerWay) {
	r.t.Helper()
	switch w.event {
	case "SessionStart of a resume":
		r.home.quit()
		r.send(w)
		offered := r.nextOffer()
		r.resume()
		offered()
	case "SessionStart of a compaction":
		r.send(w)
		r.compact()
	default:
		r.send(w)
		old := r.current
		r.home.enter("/clear")
		r.enter(r.home.another(old))
		r.stub.begin(15_000)
	}
}

// offers counts the offers of the observer.
func (r *offersRun) offers() (n int) {
	for _, m := range r.messages(nil) {
		n += m.Offers
	}
	return n
}

// send gives the observer messages for the agent.
func (r *offersRun) send(w offerWay) {
	r.t.Helper()
	for range w.n {
		r.sent++
		r.way[r.policyRun.send(api.NewMessage{
			ID:   fmt.Sprint("note ", r.sent),
			From: fmt.Sprint("friend ", r.sent),
			Text: fmt.Sprintf("Note %d.", r.sent),
			Mode: w.mode,
		})] = w
	}
}

func (r *offersRun) resume() {
	r.t.Helper()
	r.begin(r.context(), "--resume", r.current)
}

// killed kills the client and continues with another.
func (r *offersRun) killed() {
	r.t.Helper()
	noErrors(r.t, syscall.Kill(r.home.pid, syscall.SIGKILL))
	if !r.home.gone(patience) {
		r.t.Fatal("the client does not die")
	}
	r.stub.forget()
	r.resume()
}

// escape interrupts a turn in any state and leaves the box for prompts empty.
func (r *offersRun) escape() {
	r.t.Helper()
	r.home.do("", "send-keys", "-t", "agent", "Escape")
	pressed := time.Now()
	eventually(r.t, "the turn is over", func() string {
		said, _, _ := r.stub.said()
		status, _ := r.home.status()
		if said.Busy == 0 && status == "idle" && time.Since(pressed) > 300*time.Millisecond {
			return ""
		}
		if time.Since(pressed) > 3*time.Second { // the key was too early
			r.home.do("", "send-keys", "-t", "agent", "Escape")
			pressed = time.Now()
		}
		return fmt.Sprintf("the client is %s; said: %+v", status, said)
	})
	r.stub.forget()
	r.home.do("", "send-keys", "-t", "agent", "C-u")
	eventually(r.t, "the box is empty", func() string {
		input, ok := r.home.input()
		if !ok {
			return "no box"
		}
		if input != "" && time.Since(pressed) > time.Second {
			r.home.do("", "send-keys", "-t", "agent", "C-u")
			pressed = time.Now()
		}
		return input
	})
}

// nextOffer waits for the next offer from now on.
func (r *offersRun) nextOffer() (offered func()) {
	count := func() int {
		return strings.Count(r.sm.log(1<<28), "message offered")
	}
	before := count()
	timeout := time.After(patience)
	return func() {
		r.t.Helper()
		if !comes(200*time.Microsecond, timeout, func() bool { return count() > before }) {
			r.t.Fatal("no offer")
		}
	}
}

// settle lets the agent work until no message is in transit.
func (r *offersRun) settle() {
	r.t.Helper()
	for range 40 {
		r.prompt(modelStep{
			grow:  10,
			tools: 5,
		}, modelStep{
			grow:  10,
			tools: 5,
		}, modelStep{
			grow: 10,
		})
		r.ended("once more")
		eventually(r.t, "offered messages are received, or wait again", func() string {
			if offered := r.messages(func(m api.Message) bool { return m.Status == "offered" }); len(offered) > 0 {
				return fmt.Sprintf("%d are offered: %+v", len(offered), offered[0])
			}
			return ""
		})
		if len(r.messages(func(m api.Message) bool { return m.Status == "waiting" })) == 0 {
			return
		}
	}
	r.t.Error("some still wait")
}

// judge checks the result of each offer.
func (r *offersRun) judge(goal int) {
	r.t.Helper()
	received := map[string]int{}
	marked := map[string]int{}
	for _, h := range r.received() {
		received[h.id]++
		if strings.Contains(h.text, "repeated]") {
			marked[h.id]++
		}
		if h.side {
			r.t.Errorf("received by a subagent: %+v", h)
		}
	}
	offers := 0
	twice := 0
	for _, m := range r.messages(nil) {
		offers += m.Offers
		n := received[m.ID]
		if n > 1 {
			twice++
		}
		if n == 0 || m.Status != "confirmed" || n > m.Offers || n > 1+marked[m.ID] {
			r.t.Errorf(
				"received %d times, %d of them marked: %+v, %+v",
				n,
				marked[m.ID],
				r.way[m.ID],
				m,
			)
		}
	}
	if offers < goal {
		r.t.Errorf("got %d offers, want %d", offers, goal)
	}
	r.t.Logf(
		"FIGURES: %d messages, %d offers, %d received twice and marked as repeated",
		r.sent,
		offers,
		twice,
	)
}
