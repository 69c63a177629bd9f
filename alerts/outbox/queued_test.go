package outbox

import (
	"testing"
	"time"
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
