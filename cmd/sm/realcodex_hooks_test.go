//go:build realclient

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/deploy/doctor"
	"sm/observer/api"
)

// trusts answers the client's question about new hooks, if it asks.
func (h *codexHome) trusts() {
	h.t.Helper()
	screen := h.screen()
	key := "2"
	if strings.Contains(screen, "› 2. Trust all and continue") {
		key = "Enter"
	}
	if strings.Contains(screen, "Hooks need review") && time.Since(h.asked) > 2*time.Second {
		h.asked = time.Now()
		h.do("", "send-keys", "-t", "agent", key)
	}
}

// installs puts sm's hooks into the client's hooks.json.
func (r *codexRun) installs() {
	r.t.Helper()
	if out, err := r.sm.command("install",
		"--codex",
		"--socket",
		r.sm.socket(),
	).CombinedOutput(); err != nil {
		r.t.Fatalf("install: %v\n%s", err, out)
	}
}

// diagnosis returns the doctor's finding about the client's hooks.
func (r *codexRun) diagnosis() (status doctor.Status, text string) {
	r.t.Helper()
	out, _ := r.sm.command("doctor",
		"--json",
		"--socket",
		r.sm.socket(),
	).Output() // other findings may be broken
	var all struct{ Findings []doctor.Finding }
	if err := json.Unmarshal(out, &all); err != nil {
		r.t.Fatalf("doctor: %v\n%s", err, out)
	}
	for _, f := range all.Findings {
		if f.Check == "codex hooks" {
			return f.Status, f.Text
		}
	}
	return "", ""
}

// message waits until a message to an agent is received, and returns it.
func (r *codexRun) message(agent, what string, is func(*api.Message) bool) (m api.Message) {
	r.t.Helper()
	eventually(r.t, what+" is received", func() string {
		all, err := r.sm.api.Messages(r.t.Context(), agent)
		if err != nil {
			return err.Error()
		}
		for _, m = range all.Messages {
			if is(&m) && m.Status == "confirmed" {
				return ""
			}
		}
		return fmt.Sprintf("%+v", all.Messages)
	})
	if m.Via != "hook" || m.Offers != 1 {
		r.t.Errorf("%s came by %s, after %d offers", what, m.Via, m.Offers)
	}
	return m
}

func notice(kind string) func(*api.Message) bool {
	return func(m *api.Message) bool { return strings.HasSuffix(m.Key, "/"+kind) }
}

// shows checks in the transcripts that a message reached the model once, in a record of that
// role.
func (r *codexRun) shows(m api.Message, role string) {
	r.t.Helper()
	for _, path := range r.home.rollouts("") {
		n := countRecords(
			r.t,
			[]string{path},
			"#"+m.ID,
			`"type":"response_item"`,
			`"role":"`+role+`"`,
		)
		want := 0
		if strings.Contains(filepath.Base(path), r.current) {
			want = 1
		}
		if n != want {
			r.t.Errorf(
				"message %s is %d times in %s, want %d",
				m.ID,
				n,
				filepath.Base(path),
				want,
			)
		}
	}
}

// hooks returns the number of hooks of an event that the observer has counted.
func (r *codexRun) hooks(event string) int {
	r.t.Helper()
	return int(r.sm.series()[fmt.Sprintf("sm_hook_events_total{event=%q}", event)])
}

// settled waits until the client shows the end of each turn: its transcript comes first, and
// after a delayed turn it works a moment longer.
func (r *codexRun) settled() {
	r.t.Helper()
	eventually(r.t, "the client shows the end of the turn", func() string {
		screen := r.home.screen()
		if strings.Count(screen, "Worked for") < strings.Count(screen, "› Go on.") {
			return screen
		}
		return ""
	})
}

// TestRealCodexHooks tests that the hooks of sm install work with the real client once its
// user has trusted them: notices and messages reach the model, each once, at the end of a
// turn and between tools, in threads and subagents; the doctor reports the state before and
// after; and uninstalling removes all of it.
func TestRealCodexHooks(t *testing.T) {
	r := newCodexRun(t)
	r.installs()
	if status, text := r.diagnosis(); status != doctor.Broken ||
		!strings.Contains(text, "does not run 12 of 12") {
		t.Errorf("before: %s %s", status, text)
	}
	r.home.start()
	eventually(t, "the hooks are trusted", func() string { // the client asks some time after it shows its prompt
		r.home.trusts()
		if status, text := r.diagnosis(); status != doctor.Healthy {
			return text
		}
		return ""
	})
	r.current = r.home.status().Session
	r.turn("the first turn", modelStep{grow: 1000})
	r.turn("subagents", modelStep{grow: 2000, agents: make([][]int, 2)}, modelStep{grow: 500})
	for id, s := range r.sm.byID() {
		if !s.HooksSeen {
			t.Errorf("no hook of %s: %+v", id, s)
		}
		if s.ParentID == "" && !strings.HasPrefix(s.ID, "tmux-") {
			t.Errorf("the thread's agent is %s", s.ID)
		}
	}
	if starts, stops := r.hooks("SubagentStart"), r.hooks("SubagentStop"); starts != 2 ||
		stops != 2 {
		t.Errorf("%d subagents start, %d stop", starts, stops)
	}

	threads, _ := r.stub.said()
	r.turn("half full", modelStep{grow: 140_000 - threads[r.current].Context})
	r.shows(r.message(r.current, "the warning", notice("warning")), "user")
	r.settled()

	r.prompt(modelStep{
		grow:  1000,
		tools: 1,
		bash:  "sleep 1",
	}, modelStep{
		grow:  30_000,
		tools: 1,
	}, modelStep{
		grow: 500,
		hold: true,
	})
	r.held()
	sent, err := r.sm.api.Send(t.Context(), r.current, api.NewMessage{
		Text: `Mind the <gap> & "go" on, it's é.`,
		Mode: "sequential",
	})
	noErrors(t, err)
	r.stub.letGo()
	r.finish("critically full")
	r.shows(r.message(r.current, "the critical notice", notice("critical")), "developer")
	r.shows(
		r.message(
			r.current,
			"the message",
			func(m *api.Message) bool { return m.ID == sent.ID },
		),
		"user",
	)

	r.settled()
	r.compact("/compact")
	r.turn("after /compact", modelStep{grow: 900, tools: 1}, modelStep{grow: 300})
	r.settled()
	r.fills("automatic compaction", 245_000)
	r.settled()
	if before, after := r.hooks("PreCompact"), r.hooks("PostCompact"); before != 2 ||
		after != 2 {
		t.Errorf("%d compactions begin, %d end", before, after)
	}
	s := r.sm.byID()[r.current]
	if s.Cycle != 3 {
		t.Errorf("cycle %d", s.Cycle)
	}

	r.prompt(modelStep{grow: 3000, tools: 1}, modelStep{grow: 100, hold: true})
	r.held()
	r.home.do("", "send-keys", "-t", "agent", "Escape")
	eventually(t, "the turn is interrupted", func() string {
		if r.home.ends() == r.before || r.hooks("Interrupt") != 1 {
			return "the turn continues"
		}
		return ""
	})
	r.agree("interrupted")
	r.home.quit()
	eventually(t, "the session has ended", func() string {
		if s := r.sm.byID()[r.current]; s.State != "ended" {
			return s.State
		}
		return ""
	})
	all, err := r.sm.api.Messages(t.Context(), r.current)
	noErrors(t, err)
	for _, m := range all.Messages {
		if m.Offers > 1 {
			t.Errorf("offered again: %+v", m)
		}
	}
	if out, err := r.sm.command("uninstall", "--codex").CombinedOutput(); err != nil {
		t.Errorf("uninstall: %v\n%s", err, out)
	}
	if _, err := os.Stat(r.home.codex + "/hooks.json"); err == nil {
		t.Error("hooks.json still exists")
	}
	t.Logf(
		"FIGURES: %d responses by hooks, %d displays of the client agree",
		r.hooks("PostModelRequest"),
		r.shown,
	)
}
