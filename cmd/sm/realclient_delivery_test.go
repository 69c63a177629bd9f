//go:build realclient

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// newDeliveryRun returns a policyRun whose observer may type at prompts.
func newDeliveryRun(t *testing.T) *policyRun {
	t.Helper()
	t.Setenv("SM_TMUX", "1")
	return newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker")
}

// sends sends a text to the agent.
func (r *policyRun) sends(text string) (id string) {
	return r.send(api.NewMessage{
		Text: text,
	})
}

// typed waits until the transcript contains the message's text, the turn that its call began
// has ended, and the model got it. The prompt is only the call, without the text.
func (r *policyRun) typed(id string, turns int) {
	r.t.Helper()
	eventually(r.t, "the message is confirmed", func() string {
		m, _ := r.message(id)
		if m.Status != "confirmed" || m.Via != "tmux" {
			return m.Status + " by " + m.Via
		}
		return ""
	})
	eventually(r.t, "the agent has answered it", func() string {
		if r.home.turns() == turns {
			return "no turn has ended"
		}
		return ""
	})
	if !r.stub.gotMessage(id) {
		r.t.Errorf("the model did not get message %s", id)
	}
	call := `"content":"[sm message] #` + id + `"`
	prompts := r.records(`"type":"user"`, "#"+id)
	if calls := r.records(`"type":"user"`, call); prompts != 1 || calls != 1 {
		r.t.Errorf("%s is in %d prompts, %d of them calls", id, prompts, calls)
	}
}

// untouched waits until the observer has examined the pane several times and checks that the
// message still waits.
func (r *policyRun) untouched(id string) {
	r.t.Helper()
	began := time.Now()
	eventually(r.t, "the observer has examined the pane", func() string {
		if time.Since(began) < 5*time.Second {
			return "not yet"
		}
		return ""
	})
	if m, _ := r.message(id); m.Status != "waiting" {
		r.t.Errorf("got %+v", m)
	}
}

// TestRealClientDeliveryToIdle tests that an agent at its prompt gets a message and answers
// it, that a human's draft, copy mode and an open dialog stay as they are, and that the
// message follows.
func TestRealClientDeliveryToIdle(t *testing.T) {
	r := newDeliveryRun(t)
	r.begin(20_000)
	r.turn("the first turn", modelStep{grow: 10})

	turns := r.home.turns()
	r.typed(r.sends("Look at CI."), turns)

	r.keys("-l", "half typed")
	turns = r.home.turns()
	id := r.sends("After the draft.")
	r.untouched(id)
	if input, _ := r.home.input(); input != "half typed" {
		t.Errorf("draft: got %q", input)
	}
	r.keys("C-u")
	r.typed(id, turns)

	r.home.do("", "copy-mode", "-t", "agent")
	turns = r.home.turns()
	id = r.sends("After copy mode.")
	r.untouched(id)
	r.keys("-X", "cancel")
	r.typed(id, turns)
	t.Logf("FIGURES: 3 messages typed and answered, one draft and one copy mode untouched")
}

// TestRealClientDeliveryDialog tests that nothing is typed into a question for permission,
// and so nothing approved.
func TestRealClientDeliveryDialog(t *testing.T) {
	r := newDeliveryRun(t)
	path := filepath.Join(r.home.home, ".claude", "settings.json")
	text := readFile(t, path)
	r.home.write(path, strings.Replace(string(text), `"Bash",`, "", 1))
	r.begin(20_000)
	made := filepath.Join(r.home.project, "made")
	r.prompt(modelStep{grow: 10, tools: 1, bash: "touch made"}, modelStep{grow: 10})
	asks := func() bool { return strings.Contains(r.home.screen(), "Do you want") }
	eventually(t, "the client shows the question", func() string {
		if !asks() {
			return r.home.screen()
		}
		return ""
	})
	id := r.sends("After the question.")
	r.untouched(id)
	if _, err := os.Stat(made); !asks() || err == nil {
		t.Errorf("the question is gone, or approved: %v", err)
	}
	r.keys("Enter")
	r.ended("approved by hand")
	eventually(t, "the message is received", func() string {
		m, _ := r.message(id)
		if m.Status != "confirmed" {
			return m.Status
		}
		return ""
	})
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
}
