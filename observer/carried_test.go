package observer

import (
	"fmt"
	"strings"
	"testing"

	"sm/observer/api"
)

// held sends messages to an agent whose handoff delays them.
func (r *rig) held(agent string, n int) (ids []string) {
	for i := range n {
		ids = append(
			ids,
			r.sends(
				agent,
				"important",
				fmt.Sprintf("Message %d; with a shell's $(characters).", i),
			),
		)
	}
	return ids
}

// TestCarriedByTheRestartPrompt tests that waiting messages are in the prompt of the client
// that `sm run` starts, at most four, each confirmed by that prompt, and that the others
// follow.
func TestCarriedByTheRestartPrompt(t *testing.T) {
	t.Parallel()
	r, c, a := newRotationRig(t, nil)
	run := r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	ids := r.held("w1", 6)
	a.ends()
	in := run.order()
	lines := strings.Split(in.Prompt, "\n")
	if len(lines) != 5 || lines[0] != resume(doc) {
		t.Fatalf("got %q", lines)
	}
	for i, line := range lines[1:] {
		if want := fmt.Sprintf(
			"[sm message] Message %d; with a shell's $(characters). #%s",
			i,
			ids[i],
		); line != want {
			t.Errorf("got %q, want %q", line, want)
		}
		if m := r.message(ids[i]); m.Status != "offered" || m.Via != "restart" {
			t.Errorf("got %+v", m)
		}
	}
	again := r.polls(api.Run{
		CanRestart:   true,
		RestartsLeft: 10,
	}) // as after a restart of the observer
	if other := again.order(); other != in {
		t.Errorf("%+v, and again %+v", in, other)
	}
	a.restarts(in.Prompt)
	r.handoffIs(id, "confirmed")
	for i, id := range ids {
		r.until(id+" is received", func() bool { return r.message(id).Status == "confirmed" })
		if m := r.message(id); (m.Via == "restart") != (i < 4) || m.Offers != 1 {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if text := r.ask(
		"GET",
		"/metrics",
		"",
	).Body; !strings.Contains(
		text,
		`sm_messages_total{outcome="confirmed",via="restart"} 4`,
	) {
		t.Error("the metrics do not count the messages")
	}
	r.ends()
}
