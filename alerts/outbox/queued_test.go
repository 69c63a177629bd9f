package outbox

import (
	"testing"
	"time"

	"sm/alerts"
)

// TestQueued: what lies in the queue of a client stays offered until it is heard, however long that takes; what is not
// known to lie there waits again, and is no less heard when it did.
func TestQueued(t *testing.T) {
	q := New(Options{TTL: time.Hour, Offers: 1})
	id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
	offer(t, q, "a", Queued, 1)
	if next := q.Check(sec(30), readUpTo(30)); next != sec(31) || state(q, id) != "offered queue 1" {
		t.Errorf("%s, next %v", state(q, id), next)
	}
	if q.Check(sec(31), readUpTo(31)); state(q, id) != "waiting queue 1" {
		t.Errorf("not known to lie there: %s", state(q, id))
	}
	for _, by := range []Carrier{Hook, Tmux, Restart} {
		if m, ok := q.Offer("a", by, 0, sec(32)); ok {
			t.Errorf("it may lie there, and is given to %v: %+v", by, m)
		}
	}
	if _, ok := q.Answer("a", id, sec(33)); ok {
		t.Error("it may lie there, and is given to a hook that asks for it")
	}
	offer(t, q, "a", Queued, 40)
	q.Placed(id)
	for _, read := range []ReadUntil{readUpTo(3000), noTranscript} {
		if next := q.Check(sec(3500), read); next != sec(3640) || state(q, id) != "offered queue 2" {
			t.Errorf("it lies there: %s, next %v", state(q, id), next)
		}
	}
	if _, ok := q.Offer("a", Hook, 0, sec(3501)); ok {
		t.Error("given to another carrier besides")
	}
	m, _ := q.Find(id)
	if got := q.Heard("a", m.Line(), sec(3600)); len(got) != 1 || state(q, id) != "confirmed queue 2" {
		t.Errorf("%s", state(q, id))
	}

	id = put(t, q, Message{To: "a", Text: "y"}, 3600).ID
	m = offer(t, q, "a", Queued, 3601)
	q.Check(sec(3640), readUpTo(3640))
	if got := q.Heard("a", m.Line(), sec(3650)); len(got) != 1 {
		t.Error("it lay there after all, and is not heard")
	}
	q.Placed(id)
	if state(q, id) != "confirmed queue 1" {
		t.Error(state(q, id))
	}

	id = put(t, q, Message{To: "a", Text: "z"}, 3700).ID
	offer(t, q, "a", Queued, 3701)
	q.Placed(id)
	if q.Check(sec(3701+3600), readUpTo(9000)); state(q, id) != "unconfirmed queue 1" {
		t.Errorf("never taken: %s", state(q, id))
	}
}

// TestQueuedLeft: what lies in the queue of a thread that its agent has left waits again, for any carrier; in the next
// thread's queue it is looked for by another mark.
func TestQueuedLeft(t *testing.T) {
	for name, placed := range map[string]bool{"placed": true, "may lie there": false} {
		t.Run(name, func(t *testing.T) {
			q := New(Options{TTL: time.Hour})
			id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
			first, _ := q.Enqueue("a", "one", sec(1))
			if placed {
				q.Placed(id)
			} else {
				q.Check(sec(31), readUpTo(31))
			}
			before := state(q, id)
			for _, in := range []string{"one", ""} {
				q.Leave(func(alerts.AgentID) string { return in })
				if got := state(q, id); got != before {
					t.Errorf("in %q: %s, before %s", in, got, before)
				}
			}
			q.Leave(func(alerts.AgentID) string { return "two" })
			if state(q, id) != "waiting queue 1" {
				t.Errorf("after it has left: %s", state(q, id))
			}
			if q.Placed(id); state(q, id) != "waiting queue 1" {
				t.Errorf("the command for the old thread ends late: %s", state(q, id))
			}
			hooked := restored(t, q)
			if offer(t, hooked, "a", Hook, 40); state(hooked, id) != "offered hook 2" {
				t.Errorf("by a hook: %s", state(hooked, id))
			}
			second, ok := q.Enqueue("a", "two", sec(40))
			if !ok || first.Mark() != string(id) || second.Mark() != string(id)+"/2" {
				t.Errorf("%v, marks %s and %s", ok, first.Mark(), second.Mark())
			}
			if got := q.Heard("a", "[sm message] x #"+second.Mark(), sec(50)); len(got) != 1 {
				t.Error("it is not heard by its second mark")
			}
		})
	}
	q := New(Options{})
	put(t, q, Message{To: "a", Text: "x"}, 0)
	q.Enqueue("a", "one", sec(1))
	q.Check(sec(31), readUpTo(31))
	if m, ok := q.Enqueue("a", "two", sec(32)); !ok || m.Moves != 1 || m.Thread != "two" {
		t.Errorf("before anybody has said that it has left: %+v", m)
	}
}
