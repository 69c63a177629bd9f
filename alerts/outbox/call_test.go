package outbox

import (
	"fmt"
	"testing"

	"sm/alerts"
)

func TestCalled(t *testing.T) {
	for prompt, want := range map[string]string{
		"[sm message] #a1b2c3": "a1b2c3", " [sm message] #a1b2c3\n": "a1b2c3", "[sm message] #A1B2C3": "", "[sm message] #a1b2c": "",
		"[sm message] #a1b2c3d": "", "[sm message]  #a1b2c3": "", "[sm message] Hi. #a1b2c3": "", "look: [sm message] #a1b2c3": "", "": "",
	} {
		if got, ok := Called(prompt); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", prompt, got, ok)
		}
	}
	m := Message{ID: "a1b2c3", From: "web", Text: "Hi."}
	if got, ok := Called(m.Call()); got != m.ID || !ok || !alerts.Plain("[sm message] ") {
		t.Errorf("%q: %q, %v", m.Call(), got, ok)
	}
}

func TestTypeable(t *testing.T) {
	notice := key(1, 0)
	for i, c := range []struct {
		m           Message
		own, texts  bool
		typed, note string
	}{
		{Message{Text: "rm -rf /"}, false, true, "[sm message] rm -rf / #a1b2c3", "a send"},
		{Message{
			Text:     "[sm handoff] Well.",
			OwnWords: true,
		}, true, true, "[sm handoff] Well. #a1b2c3", "a send of ours"},
		{Message{
			Text:     "[sm handoff] Read /a(b)",
			OwnWords: true,
		}, false, true, "[sm handoff] Read /a(b) #a1b2c3", "a path in it"},
		{Message{
			Text:     "[sm handoff] Well.",
			OwnWords: true,
			Offers:   2,
		}, true, true, "[sm handoff] Well. - repeated #a1b2c3", "again"},
		{Message{
			Text: "Context at 66%.",
			Key:  notice,
		}, true, true, "[sm context] Context at 66%. #a1b2c3", "a notice"},
		{Message{
			Text: "Now!",
			Key:  notice,
		}, false, true, "[sm context] Now! #a1b2c3", "of the user's"},
		{Message{
			Text:  "Now!",
			Key:   notice,
			Plain: "[sm context] Context at 66%.",
		}, true, true, "[sm context] Context at 66%. #a1b2c3", "in our words"},
	} {
		c.m.ID = "a1b2c3"
		got := fmt.Sprint(c.m.Typeable(false), c.m.Typeable(true), c.m.Typed())
		if want := fmt.Sprint(c.own, c.texts, c.typed); got != want {
			t.Errorf("%d, %s: got %s, want %s", i, c.note, got, want)
		}
	}
}
