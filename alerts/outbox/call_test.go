package outbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

func TestCalled(t *testing.T) {
	for prompt, want := range map[string]ID{
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

// typed is an offer of a message that may be typed whole.
func typed(q *Queue, texts bool, s float64) (Message, bool) {
	return q.OfferOf("a", Tmux, alerts.Sequential, sec(s), func(m *Message) bool { return m.Typeable(texts) })
}

// TestCallIsNoProof: a typed line confirms nothing; the text is confirmed by the
// hook or transcript that follows.
func TestCallIsNoProof(t *testing.T) {
	q := New(Defaults())
	id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
	other := put(t, q, Message{To: "a", Text: "y"}, 0).ID
	m, ok := q.Call("a", sec(1))
	if !ok || m.ID != id || !m.Calling || state(q, id) != "offered tmux 1" {
		t.Fatalf("%+v", m)
	}
	for _, text := range []string{m.Call(), m.Call() + "\n" + m.Call(), "[sm x] quoted #" + string(id), m.Line()} {
		if got := q.Heard("a", text, sec(2)); len(got) != 0 {
			t.Errorf("%q is heard though its text has not left", text)
		}
	}
	if _, ok := q.Answer("b", id, sec(2)); ok {
		t.Error("another agent is answered")
	}
	m, ok = q.Answer("a", id, sec(3))
	if !ok || m.Line() != "[sm message] x #"+string(id) || m.Offered != sec(3) || m.First != sec(1) ||
		state(q, id) != "offered tmux 1" {
		t.Fatalf("%v %+v", ok, m)
	}
	if _, ok := q.Answer("a", id, sec(4)); ok {
		t.Error("answered twice")
	}
	if got := q.Heard("a", m.Call(), sec(4)); len(got) != 0 {
		t.Error("its call is no proof")
	}
	if got := q.Heard("a", m.Call()+" "+m.Line(), sec(4)); len(got) != 1 || got[0].ID != id {
		t.Errorf("heard %+v", got)
	}
	if _, ok := q.Answer("a", id, sec(5)); ok {
		t.Error("answered after it was heard")
	}
	// A human may type a call, too.
	if m, ok := q.Answer("a", other, sec(6)); !ok || m.Offers != 1 || m.Via != Tmux {
		t.Errorf("%v %+v", ok, m)
	}
}

// TestCallWithoutAnswer: the text has certainly not left, whatever the transcript says, so
// that it waits again, and is no repetition. It is not unconfirmed either, however often it was
// called for: it expires.
func TestCallWithoutAnswer(t *testing.T) {
	for _, read := range []ReadUntil{noTranscript, readUpTo(-100), readUpTo(1000)} {
		q := New(Options{Offers: 3, TTL: 400 * time.Second})
		id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
		var got []string
		for i := range 4 {
			at := float64(100 * i)
			if _, ok := q.Call("a", sec(at)); !ok {
				t.Fatal("not offered")
			}
			if next := q.Check(sec(at+29), read); next != sec(at+30) {
				t.Errorf("next %v", next)
			}
			q.Check(sec(at+30), read)
			got = append(got, state(q, id))
		}
		q.Check(sec(400), read)
		got = append(got, state(q, id))
		want := []string{"waiting tmux 1", "waiting tmux 2", "waiting tmux 3", "waiting tmux 4", "expired tmux 4"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	q := New(Options{})
	id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
	q.Call("a", sec(0))
	q.Check(sec(30), noTranscript)
	q.Call("a", sec(40))
	if m, _ := q.Answer("a", id, sec(41)); m.Line() != "[sm message] x #"+string(id) {
		t.Errorf("what was never given is no repetition: %s", m.Line())
	}
	q.Check(sec(75), noTranscript)
	if m, _ := q.Offer("a", Hook, alerts.Sequential, sec(80)); m.Line() != "[sm message, repeated] x #"+string(id) {
		t.Errorf("not marked: %s", m.Line())
	}
}

// TestCallWaitsForOthers: until the text is asked for, a hook may take it, and the call
// comes too late then.
func TestCallWaitsForOthers(t *testing.T) {
	q := New(Options{})
	id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
	q.Call("a", sec(0))
	if _, ok := q.Call("a", sec(1)); ok {
		t.Error("called twice at once")
	}
	if _, ok := typed(q, true, 1); ok {
		t.Error("called and typed at once")
	}
	m, ok := q.Offer("a", Hook, alerts.Sequential, sec(2))
	if !ok || m.ID != id || m.Line() != "[sm message] x #"+string(id) {
		t.Fatalf("%v %+v", ok, m)
	}
	if _, ok := q.Answer("a", id, sec(3)); ok {
		t.Error("given twice")
	}
	q.Check(sec(40), readUpTo(40))
	q.Call("a", sec(41))
	q.Unoffer(id, sec(42))
	if got := state(q, id); got != "waiting tmux 2" && got != "waiting hook 2" {
		t.Errorf("taken back: %s", got)
	}
	q.Call("a", sec(43))
	q.Hold("a", true)
	if _, ok := q.Answer("a", id, sec(44)); ok || q.order[0].State != Waiting {
		t.Errorf("on hold: %v %+v", ok, *q.order[0])
	}
}

func TestTypeable(t *testing.T) {
	notice := alerts.Key{Agent: "a", Cycle: 1}
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
		{Message{Text: "Context at 66%.", Key: notice}, true, true, "[sm context] Context at 66%. #a1b2c3", "a notice"},
		{Message{Text: "Now!", Key: notice}, false, true, "[sm context] Now! #a1b2c3", "of the user's"},
		{Message{
			Text:  "Now!",
			Key:   notice,
			Plain: "[sm context] Context at 66%.",
		}, true, true, "[sm context] Context at 66%. #a1b2c3", "in our words"},
	} {
		c.m.ID = "a1b2c3"
		got := fmt.Sprint(c.m.Typeable(false), c.m.Typeable(true), c.m.Typed())
		if want := fmt.Sprint(c.own, c.texts, c.typed); got != want {
			t.Errorf("%d, %s: %s, want %s", i, c.note, got, want)
		}
	}
	q := New(Defaults())
	put(t, q, Message{To: "a", Text: "x", Mode: alerts.Urgent}, 0)
	id := put(t, q, Message{To: "a", Text: "Context.", Key: notice}, 0).ID
	if m, ok := typed(q, false, 1); !ok || m.ID != id || m.Calling {
		t.Errorf("%v %+v", ok, m)
	}
	if m, ok := typed(q, false, 1); ok {
		t.Errorf("%+v", m)
	}
	if _, ok := typed(q, true, 1); !ok {
		t.Error("not with texts")
	}
}
