package outbox

import (
	"errors"
	"testing"

	"sm/alerts"
)

// TestUnput: what could not be stored is gone, and can be put again under its name.
func TestUnput(t *testing.T) {
	q := New(Defaults())
	put := func(m Message) Message {
		t.Helper()
		got, err := q.Put(m, sec(1))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	m := put(Message{To: "a", Ref: "r", Text: "one"})
	q.Take()
	if !q.Unput(m.ID) || q.Unput(m.ID) || q.Waiting() != 0 || q.HasWaiting("a") || len(q.All()) != 0 {
		t.Errorf("still there: %+v", q.All())
	}
	if d, ok := q.Take(); !ok || len(d.Gone) != 1 || d.Counters != (Counters{}) {
		t.Errorf("took %+v", d)
	}
	again := put(Message{To: "a", Ref: "r", Text: "one"})
	if _, ok := q.Offer("a", Hook, alerts.Sequential, sec(2)); !ok || q.Unput(again.ID) {
		t.Error("what was offered may have been read")
	}
	n := put(Message{To: "a", Key: alerts.Key{Agent: "a", Cycle: 1}, Text: "notice"})
	if q.Unput(n.ID) {
		t.Error("a notice is the engine's to take back")
	}
}

// TestUnmetered: what is the caller's own to bound is bounded by nothing here.
func TestUnmetered(t *testing.T) {
	q := New(Options{PerAgent: 1, PerSenderMinute: 1})
	for i, m := range []Message{{To: "a", Text: "1", Unmetered: true}, {To: "a", Text: "2", Unmetered: true, From: "x"}, {To: "a", Text: "3", From: "y"}} {
		if _, err := q.Put(m, sec(float64(i))); err != nil {
			t.Errorf("%s: %v", m.Text, err)
		}
	}
	if _, err := q.Put(Message{To: "a", Text: "4", From: "z"}, sec(5)); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := q.Put(Message{To: "b", Text: "5", From: "x"}, sec(6)); err != nil { // x has sent nothing that counts
		t.Error(err)
	}
}

// TestRenameKeys: an agent that gets the id which another had before says its own
// notices, and those of the other are withdrawn under the new one.
func TestRenameKeys(t *testing.T) {
	q := New(Defaults())
	key := func(agent alerts.AgentID) alerts.Key {
		return alerts.Key{Agent: agent, Cycle: 1, Kind: alerts.KindWarning}
	}
	first, err := q.Put(Message{To: "old", Key: key("old"), Text: "[sm context] one"}, sec(1))
	if err != nil {
		t.Fatal(err)
	}
	q.Rename("old", "new")
	second, err := q.Put(Message{To: "old", Key: key("old"), Text: "[sm context] two"}, sec(2))
	if err != nil || second.ID == first.ID {
		t.Errorf("%v: %+v", err, second)
	}
	if got := q.Withdraw([]alerts.Key{key("new")}, sec(3)); len(got) != 1 || got[0].ID != first.ID {
		t.Errorf("withdrawn %+v", got)
	}
}
