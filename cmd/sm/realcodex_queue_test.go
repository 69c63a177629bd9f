//go:build realclient

package main

import (
	"fmt"
	"strings"
	"testing"

	"sm/observer/api"
)

// sends puts a message into the queue of an agent.
func (r *codexRun) sends(agent, text string) (id string) {
	r.t.Helper()
	m, err := r.sm.api.Send(r.t.Context(), agent, api.NewMessage{Text: text})
	noErrors(r.t, err)
	return m.ID
}

// received waits until a message is confirmed by the queue, and checks that the transcripts
// contain it once.
func (r *codexRun) received(agent, id string) {
	r.t.Helper()
	eventually(r.t, "message "+id+" is received", func() string {
		all, err := r.sm.api.Messages(r.t.Context(), agent)
		if err != nil {
			return err.Error()
		}
		for _, m := range all.Messages {
			if m.ID == id && m.Status == "confirmed" && m.Via == "queue" {
				return ""
			}
		}
		return fmt.Sprintf("%+v", all)
	})
	r.rests()
	if n := r.home.records(`"type":"UserMessage"`, "#"+id); n != 1 {
		r.t.Errorf("message %s: got %d prompts, want 1", id, n)
	}
	if n := r.home.records(`"turn_trigger":"queue"`); n == 0 {
		r.t.Error("the queue has started no turn")
	}
}

// rests waits until the client shows that it is idle: a turn that a message begins ends soon.
func (r *codexRun) rests() {
	r.t.Helper()
	eventually(r.t, "the client is idle", func() string {
		began := r.home.records(`"type":"task_started"`)
		ends := r.home.ends()
		if screen := r.home.screen(); began != ends ||
			strings.Contains(screen, "esc to interrupt") {
			return fmt.Sprintf(
				"%d turns have begun, %d ended; the screen:\n%s",
				began,
				ends,
				screen,
			)
		}
		return ""
	})
}

// TestRealCodexQueue tests that waiting messages for an agent at its prompt arrive by the
// client's own queue, once, also across kills of the observer. A draft stays as it is.
func TestRealCodexQueue(t *testing.T) {
	r := newCodexRun(t)
	r.begin()
	r.turn("the first turn", modelStep{grow: 1000})
	r.received(r.current, r.sends(r.current, `Look at $(CI); "quoted" \ and é.`))

	r.home.do("", "send-keys", "-t", "agent", "-l", "half typed")
	r.received(r.current, r.sends(r.current, "Beside a draft."))
	if input, _ := r.home.input(); input != "half typed" {
		t.Errorf("draft: got %q", input)
	}
	r.home.do("", "send-keys", "-t", "agent", "C-u")

	r.kills = 20
	var ids []string
	for i := range 5 {
		ids = append(
			ids,
			r.sends(
				r.current,
				fmt.Sprintf(
					"Message %d over kills. %s",
					i,
					strings.Repeat("and more ", 50*i),
				),
			),
		)
		for range 4 {
			r.killed()
		}
	}
	for _, id := range ids {
		r.received(r.current, id)
	}
	eventually(t, "the figures", r.wrong)
	t.Logf("FIGURES: 7 messages by the queue, each received once; 20 kills of the observer")
}
