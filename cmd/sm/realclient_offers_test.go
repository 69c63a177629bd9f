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

// offersRun sends message after message to one agent, by each carrier event,
// and disturbs their way.
type offersRun struct {
	*policyRun
	sent int
	way  map[string]offerWay // by the message's id
}

// offerWay is how messages are sent, and what becomes of the turn.
type offerWay struct {
	event string // whose hook carries them
	tools int    // parallel calls of tools
	mode  string
	n     int    // messages
	end   string // what happens at the offer, or as the model is asked after it
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

// TestRealClientPolicyOffers makes SM_OFFERS offers. Each is proven by the
// transcript, or made again.
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

// sessionStarts sends messages for a session that begins anew.
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

// offers counts those that the observer has made.
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

// killed kills the client and lets another go on.
func (r *offersRun) killed() {
	r.t.Helper()
	if err := syscall.Kill(r.home.pid, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	if !r.home.gone(patience) {
		r.t.Fatal("the client does not die")
	}
	r.stub.forget()
	r.resume()
}

// escape interrupts a turn, whatever it is at, and leaves the box for prompts empty.
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
		if time.Since(pressed) > 3*time.Second { // it came too early
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
			r.t.Fatal("nothing is offered")
		}
	}
}

// settle lets the agent work until nothing is on its way any more.
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
		eventually(r.t, "what was offered was heard, or is to be offered again", func() string {
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

// judge counts what has become of the offers.
func (r *offersRun) judge(goal int) {
	r.t.Helper()
	heard := map[string]int{}
	marked := map[string]int{}
	for _, h := range r.heard() {
		heard[h.id]++
		if strings.Contains(h.text, "repeated]") {
			marked[h.id]++
		}
		if h.side {
			r.t.Errorf("heard by a subagent: %+v", h)
		}
	}
	offers := 0
	twice := 0
	for _, m := range r.messages(nil) {
		offers += m.Offers
		n := heard[m.ID]
		if n > 1 {
			twice++
		}
		if n == 0 || m.Status != "confirmed" || n > m.Offers || n > 1+marked[m.ID] {
			r.t.Errorf(
				"heard %d times, %d of them marked: %+v, %+v",
				n,
				marked[m.ID],
				r.way[m.ID],
				m,
			)
		}
	}
	if offers < goal {
		r.t.Errorf("%d offers, wanted %d", offers, goal)
	}
	r.t.Logf(
		"FIGURES: %d messages, %d offers, %d heard twice and marked as repeated",
		r.sent,
		offers,
		twice,
	)
}
