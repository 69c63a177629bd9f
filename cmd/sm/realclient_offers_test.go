//go:build realclient

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// offersRun sends message after message to one agent, by each carrier event, and disturbs their way.
type offersRun struct {
	*policyRun
	sent int
	way  map[string]string // what was done as a message was sent, by its id
}

// TestRealClientPolicyOffers makes SM_OFFERS offers. Each is proven by the transcript, or made again.
func TestRealClientPolicyOffers(t *testing.T) {
	goal := 24
	if n, err := strconv.Atoi(os.Getenv("SM_OFFERS")); err == nil && n > 0 {
		goal = n
	}
	r := &offersRun{policyRun: newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker"), way: map[string]string{}}
	r.begin(20_000)
	r.turn("the first turn", modelStep{grow: 10, tools: 1}, modelStep{grow: 10})
	ways := r.ways()
	for i := 0; r.offers() < goal; i++ {
		w := ways[i%len(ways)]
		w.run(w.name)
		if i%len(ways) == len(ways)-1 {
			t.Logf("%d messages, %d offers so far", r.sent, r.offers())
		}
	}
	r.settle()
	r.judge(goal)
}

// offers counts those that the observer has made.
func (r *offersRun) offers() (n int) {
	for _, m := range r.messages(nil) {
		n += m.Offers
	}
	return n
}

// send gives the observer messages for the agent.
func (r *offersRun) send(way, mode string, n int) {
	r.t.Helper()
	for range n {
		r.sent++
		body := api.NewMessage{
			ID:   fmt.Sprint("note ", r.sent),
			From: fmt.Sprint("friend ", r.sent),
			Text: fmt.Sprintf("Note %d.", r.sent),
			Mode: mode,
		}
		var m api.Message
		if err := json.Unmarshal(r.post("/sessions/"+r.agent+"/messages", body, 202), &m); err != nil {
			r.t.Fatal(err)
		}
		r.way[m.ID] = way
	}
}

// begun sends a prompt and waits until the model is asked for the first time, so that what is sent now comes later
// than with the prompt.
func (r *offersRun) begun(steps ...modelStep) {
	r.t.Helper()
	steps[0].hold = true
	r.prompt(steps...)
	r.held()
}

// offerWay is one way to disturb a message on its way.
type offerWay struct {
	name string
	run  func(name string)
}

func (r *offersRun) ways() []offerWay {
	step := modelStep{grow: 10, tools: 1}
	end := modelStep{grow: 10}
	many := modelStep{grow: 10, tools: 4}
	done := func(name string) {
		r.ended(name)
	}
	return []offerWay{
		{"PostToolUse, plain", func(name string) {
			r.begun(step, end)
			r.send(name, "important", 1)
			r.stub.letGo()
			done(name)
		}},
		{"PostToolUse, parallel tools", func(name string) {
			r.begun(many, end)
			r.send(name, "urgent", 4)
			r.stub.letGo()
			done(name)
		}},
		{"PostToolUse, Escape at the offer", func(name string) {
			r.begun(step, step, end)
			r.send(name, "urgent", 1)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.escape()
		}},
		{"PostToolUse, Escape as the model is asked", func(name string) {
			r.begun(step, modelStep{grow: 10, hold: true})
			r.send(name, "urgent", 1)
			r.stub.letGo()
			r.held()
			r.escape()
		}},
		{"PostToolUse, parallel tools, Escape at an offer", func(name string) {
			r.begun(many, step, end)
			r.send(name, "urgent", 3)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.escape()
		}},
		{"PostToolUse, client killed", func(name string) {
			r.begun(many, step, end)
			r.send(name, "urgent", 2)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.killed()
		}},
		{"PostToolUse, observer killed", func(name string) {
			r.begun(many, step, end)
			r.send(name, "urgent", 2)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.restart(nil)
			done(name)
		}},
		{"UserPromptSubmit, plain", func(name string) {
			r.send(name, "urgent", 1)
			r.prompt(step, end)
			done(name)
		}},
		{"UserPromptSubmit, parallel tools", func(name string) {
			r.send(name, "important", 3)
			r.prompt(many, end)
			done(name)
		}},
		{"UserPromptSubmit, Escape at the offer", func(name string) {
			r.send(name, "urgent", 1)
			offered := r.nextOffer()
			r.prompt(modelStep{grow: 10, hold: true}, end)
			offered()
			r.escape()
		}},
		{"UserPromptSubmit, Escape as the model is asked", func(name string) {
			r.send(name, "urgent", 1)
			r.begun(modelStep{grow: 10}, end)
			r.escape()
		}},
		{"UserPromptSubmit, client killed", func(name string) {
			r.send(name, "urgent", 1)
			offered := r.nextOffer()
			r.prompt(modelStep{grow: 10, hold: true}, end)
			offered()
			r.killed()
		}},
		{"Stop, plain", func(name string) {
			r.begun(step, end)
			r.send(name, "sequential", 1)
			r.stub.letGo()
			done(name)
		}},
		{"Stop, parallel tools", func(name string) {
			r.begun(many, end)
			r.send(name, "sequential", 3)
			r.stub.letGo()
			done(name)
		}},
		{"Stop, Escape at the offer", func(name string) {
			r.begun(end)
			r.send(name, "sequential", 1)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.escape()
		}},
		{"Stop, Escape as the model is asked", func(name string) {
			r.begun(end, modelStep{grow: 10, hold: true})
			r.send(name, "sequential", 1)
			r.stub.letGo()
			r.held()
			r.escape()
		}},
		{"Stop, client killed", func(name string) {
			r.begun(end)
			r.send(name, "sequential", 1)
			offered := r.nextOffer()
			r.stub.letGo()
			offered()
			r.killed()
		}},
		{"SessionStart, resumed", func(name string) {
			r.home.quit()
			r.send(name, "sequential", 1)
			r.resume()
			r.prompt(step, end)
			done(name)
		}},
		{"SessionStart, compacted", func(name string) {
			r.send(name, "sequential", 1)
			r.compact()
			r.prompt(step, end)
			done(name)
		}},
		{"SessionStart, client killed", func(name string) {
			r.home.quit()
			r.send(name, "urgent", 1)
			offered := r.nextOffer()
			r.resume()
			offered()
			r.killed()
		}},
		{"SessionStart, cleared", func(name string) {
			r.send(name, "sequential", 1)
			old := r.current
			r.home.enter("/clear")
			r.enter(r.home.another(old))
			r.stub.begin(15_000)
			r.prompt(step, end)
			done(name)
		}},
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
		text, _ := os.ReadFile(r.sm.log)
		return bytes.Count(text, []byte("message offered"))
	}
	before := count()
	deadline := time.Now().Add(patience)
	return func() {
		r.t.Helper()
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for ; count() == before; <-tick.C {
			if time.Now().After(deadline) {
				r.t.Fatal("nothing is offered")
			}
		}
	}
}

// settle lets the agent work until nothing is on its way any more.
func (r *offersRun) settle() {
	r.t.Helper()
	for range 40 {
		r.prompt(modelStep{grow: 10, tools: 5}, modelStep{grow: 10, tools: 5}, modelStep{grow: 10})
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
	type fate struct{ heard, marked int }
	fates := map[string]*fate{}
	for _, h := range r.heard() {
		if fates[h.id] == nil {
			fates[h.id] = &fate{}
		}
		fates[h.id].heard++
		if strings.Contains(h.text, "repeated]") {
			fates[h.id].marked++
		}
		if h.side {
			r.t.Errorf("heard by a subagent: %+v", h)
		}
	}
	offers := 0
	again := 0
	twice := 0
	untold := 0
	lost := map[string]int{}
	for _, m := range r.messages(nil) {
		f := fates[m.ID]
		if f == nil {
			r.t.Errorf("never heard: %q, %+v", r.way[m.ID], m)
			continue
		}
		offers = offers + m.Offers
		again = again + m.Offers - 1
		if m.Offers > 1 {
			lost[r.way[m.ID]] += m.Offers - 1
		}
		if !r.stub.toldOf(m.ID) {
			untold++
			r.t.Logf("in a transcript, and the model was never told: %q, %+v", r.way[m.ID], m)
		}
		switch {
		case m.Status != "confirmed":
			r.t.Errorf("heard %d times: %q, %+v", f.heard, r.way[m.ID], m)
		case f.heard > m.Offers || f.heard > 1+f.marked:
			r.t.Errorf("heard %d times, %d of them marked: %q, %+v", f.heard, f.marked, r.way[m.ID], m)
		case f.heard > 1:
			twice++
			r.t.Logf("heard twice, marked: %q, %+v", r.way[m.ID], m)
		}
	}
	if offers < goal {
		r.t.Errorf("%d offers, wanted %d", offers, goal)
	}
	events := map[string]int{}
	for _, h := range r.heard() {
		events[h.event]++
	}
	r.t.Logf("FIGURES: %d messages, %d offers: %d proven by a transcript (%v), %d offered again (%v), %d heard twice and marked as repeated, %d that the model was never told of",
		r.sent, offers, len(fates), events, again, lost, twice, untold)
	r.report()
}
