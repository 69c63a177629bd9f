//go:build realclient

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// TestRealClientHandoffDialog: a permission dialog opens in the turn of the call. Nothing is typed into it and nothing
// approved; once a human has answered it, and the turn has ended, the handoff runs.
func TestRealClientHandoffDialog(t *testing.T) {
	r := newHandoffRun(t)
	path := filepath.Join(r.home.home, ".claude", "settings.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	settings["permissions"].(map[string]any)["ask"] = []string{"Bash(touch:*)"}
	r.home.writeJSON(path, settings)
	r.begin(20_000)
	r.turn("the first turn", modelStep{grow: 10})

	doc := filepath.Join(r.home.project, "doc.md")
	touched := filepath.Join(r.home.project, "touched")
	r.handsOver(doc, modelStep{grow: 100, tools: 1, bash: "touch " + touched})
	eventually(t, "the dialog is open", func() string {
		if status, _ := r.home.status(); status != "waiting" {
			return "the client is " + status
		}
		return ""
	})
	id := r.sends("Not into the dialog.")
	screen := r.home.screen()
	since := time.Now()
	eventually(t, "some looks have passed", func() string {
		if h := r.handoffIs("scheduled"); h.Reason != "" {
			t.Fatalf("%+v", h)
		}
		if now := r.home.screen(); now != screen {
			t.Fatalf("the screen has changed:\n%s\nit was:\n%s", now, screen)
		}
		if time.Since(since) < 6*time.Second {
			return "not yet"
		}
		return ""
	})
	if _, err := os.Stat(touched); err == nil || r.records("<command-name>/clear</command-name>") > 0 {
		t.Fatal("the dialog was answered, or the context cleared")
	}
	r.keys("Enter") // the human's
	r.ended("the turn with the dialog")
	if _, err := os.Stat(touched); err != nil {
		t.Error("what was approved is not done: ", err)
	}
	r.rotated("after a dialog", r.handoffIs("confirmed"), 1)
	eventually(t, "the message follows", func() string {
		if m, _ := r.message(id); m.Status != "confirmed" {
			return m.Status
		}
		return ""
	})
}

// TestRealClientHandoffKills kills the observer once at a random moment of each of ten handoffs. None leads to a second
// /clear, or to one whose prompt is neither typed nor reported, and none is lost.
func TestRealClientHandoffKills(t *testing.T) {
	const rounds = 10
	r := newHandoffRun(t)
	r.home.write(
		filepath.Join(filepath.Dir(r.sm.state), ".config", "sm", "config.yaml"),
		"handoff: {breaker_count: 1000}\nlog: {level: debug}\n",
	)
	r.restart(nil)
	r.begin(20_000)
	r.turn("the first turn", modelStep{grow: 10})
	ends := map[string]int{}
	seen := map[string]int{}
	for i := range rounds {
		doc := filepath.Join(r.home.project, fmt.Sprintf("doc%d.md", i))
		before := r.records("<command-name>/clear</command-name>")
		r.handsOver(doc)
		r.ended("the turn of the handoff")
		<-time.After(rand.N(4 * time.Second)) // not to wait for something, but to hit any moment
		seen[r.newest(doc).State]++
		r.restart(func() { <-time.After(rand.N(2 * time.Second)) })
		var h api.Handoff
		eventually(t, "the handoff ends", func() string {
			if h = r.newest(doc); h.State != "confirmed" && h.State != "failed" {
				return fmt.Sprintf("%+v", h)
			}
			return ""
		})
		ends[h.State+" "+h.Reason]++
		clears := r.records("<command-name>/clear</command-name>") - before
		prompts := r.records(`"type":"user"`, "Read "+doc+" and continue from where you left off.")
		reported := len(r.messages(func(m api.Message) bool {
			return m.Ref == "handoff/"+h.ID+"/failed" || m.Ref == "handoff/"+h.ID+"/lost"
		})) == 1
		switch {
		case clears > 1 || prompts > 1:
			t.Errorf("round %d: %d clears, %d prompts", i, clears, prompts)
		case h.State == "confirmed" && (clears != 1 || prompts != 1):
			t.Errorf("round %d: confirmed after %d clears, %d prompts", i, clears, prompts)
		case h.State == "failed" && !reported:
			t.Errorf("round %d: %+v, and nobody is told", i, h)
		}
		eventually(t, "the client is at rest", func() string {
			if status, _ := r.home.status(); status != "idle" {
				return "the client is " + status
			}
			if s := r.me(); s.Queued > 0 {
				return fmt.Sprintf("%d messages wait", s.Queued)
			}
			return ""
		})
		_, session := r.home.status()
		r.enter(session)
		r.stub.resize(20_000)
	}
	log, err := os.ReadFile(r.sm.log)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte("level=ERROR")) {
		t.Error("its log has errors")
	}
	t.Logf("FIGURES: %d handoffs, the observer killed in each, in the states %v; they ended %v; texts finished by Enter: %d",
		rounds, seen, ends, strings.Count(string(log), "finish=true typed=true"))
}

// newest is the handoff of a document.
func (r *policyRun) newest(doc string) (h api.Handoff) {
	r.t.Helper()
	for _, x := range r.handoffs() {
		if x.Path == doc {
			h = x
		}
	}
	return h
}
