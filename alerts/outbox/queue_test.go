package outbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// sec is a time in seconds after a fixed one.
func sec(s float64) time.Time {
	return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

func key(cycle int, k alerts.Kind) alerts.Key { return alerts.Key{Agent: "a", Cycle: cycle, Kind: k} }

// put puts a message that must be accepted.
func put(t testing.TB, q *Queue, m Message, s float64) Message {
	t.Helper()
	got, err := q.Put(m, sec(s))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// offer takes an offer that must be made.
func offer(t testing.TB, q *Queue, to alerts.AgentID, by Carrier, s float64) Message {
	t.Helper()
	m, ok := q.Offer(to, by, alerts.Sequential, sec(s))
	if !ok {
		t.Fatalf("nothing is offered to %s by %s", to, by)
	}
	return m
}

// state is where a message stands: state, carrier and number of offers.
func state(q *Queue, id ID) string {
	m, ok := q.Find(id)
	if !ok {
		return "gone"
	}
	return fmt.Sprintf("%s %s %d", m.State, m.Via, m.Offers)
}

func TestPut(t *testing.T) {
	q := New(Defaults())
	local := sec(1).In(time.FixedZone("", 3600))
	m, err := q.Put(Message{
		ID:      "zzz",
		Seq:     99,
		To:      "a",
		Key:     key(1, alerts.KindWarning),
		From:    "sm",
		Mode:    9,
		Text:    "x",
		Made:    sec(77),
		State:   Confirmed,
		Via:     Tmux,
		Offered: sec(7),
		First:   sec(7),
		Offers:  3,
		Ended:   sec(8),
	}, local)
	want := Message{
		ID:   m.ID,
		Seq:  1,
		To:   "a",
		Key:  key(1, alerts.KindWarning),
		From: "sm",
		Mode: alerts.Urgent,
		Text: "x",
		Made: sec(1),
	}
	if err != nil || m != want {
		t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(want, m))
	}
	if len(m.ID) != 6 || !hex(string(m.ID)) {
		t.Errorf("id %q", m.ID)
	}
	if got, ok := q.Find(m.ID); !ok || got != m {
		t.Errorf("found %+v", got)
	}
	if _, ok := q.Find("zzz"); ok {
		t.Error("the caller chose the id")
	}
}

func TestPutRefuses(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for _, c := range []struct {
		name string
		m    Message
		want error
	}{
		{"just fits", Message{To: "a", Text: long}, nil},
		{"too long", Message{To: "a", Text: long + "x"}, ErrTooLong},
		{"too long a notice", Message{To: "a", Key: key(1, 0), Text: long + "x"}, ErrTooLong},
		{"empty", Message{To: "a"}, ErrEmpty},
		{"space", Message{To: "a", Text: " \t\n\u2003"}, ErrEmpty},
		{"bytes", Message{To: "a", Text: "x\xff"}, ErrText},
		{"bytes in a name", Message{To: "a", Text: "x", From: "\xff"}, ErrText},
		{"bytes in a ref", Message{To: "a", Text: "x", Ref: "\xff"}, ErrText},
		{"bytes in a key", Message{To: "a", Text: "x", Key: alerts.Key{Agent: "\xff"}}, ErrText},
		{"nobody", Message{Text: "x"}, ErrNobody},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := New(Defaults())
			_, err := q.Put(c.m, sec(0))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if want := map[bool]int{true: 1}[c.want == nil]; q.Waiting() != want || len(q.All()) != want {
				t.Errorf("%d messages, want %d", q.Waiting(), want)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), ": ")) {
				t.Errorf("not one line with what to do: %q", err)
			}
		})
	}
}

func TestPutFull(t *testing.T) {
	o := Defaults()
	o.PerAgent = 2
	q := New(o)
	first := put(t, q, Message{To: "a", From: "1", Text: "x"}, 0)
	put(t, q, Message{To: "a", From: "2", Text: "x"}, 0)
	for i := range 5 {
		put(t, q, Message{To: "a", Key: key(i, 0), Text: "notice"}, 0)
	}
	full := func() bool {
		_, err := q.Put(Message{To: "a", From: "3", Text: "x"}, sec(1))
		if err != nil && !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		return err != nil
	}
	if !full() {
		t.Error("a third send is accepted")
	}
	put(t, q, Message{To: "b", From: "3", Text: "x"}, 1)
	offer(t, q, "a", Hook, 2)
	if !full() {
		t.Error("an offered message does not count")
	}
	q.Heard("a", first.Line(), sec(3))
	if full() {
		t.Error("a message that was heard counts")
	}
}

func TestPutRate(t *testing.T) {
	o := Defaults()
	o.PerSenderMinute = 2
	q := New(o)
	tooMany := func(from string, s float64) bool {
		_, err := q.Put(Message{To: "a", From: from, Text: "x"}, sec(s))
		if err != nil && !errors.Is(err, ErrRate) {
			t.Error(err)
		}
		return err != nil
	}
	var got []bool
	for _, c := range []struct {
		from string
		at   float64
	}{
		{"w", 0}, {"w", 30}, {"w", 59}, // the third is too many
		{"v", 59}, {"", 59}, {"", 59}, {"", 59}, // others go on; those without a name are one
		{"w", 60}, {"w", 61}, // the first is a minute old, but not the second
		{"w", -7200}, {"w", -7200}, {"w", -7200}, {"w", -7140}, // the clock was set back
	} {
		got = append(got, tooMany(c.from, c.at))
	}
	want := []bool{false, false, true, false, false, false, true, false, true, false, false, true, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("too many (-want +got):\n%s", diff)
	}
	put(t, q, Message{
		To:   "a",
		From: "n",
		Key:  key(1, 0),
		Text: "x",
	}, 0)
	put(t, q, Message{
		To:   "a",
		From: "n",
		Key:  key(2, 0),
		Text: "x",
	}, 0)
	put(t, q, Message{
		To:   "a",
		From: "n",
		Key:  key(3, 0),
		Text: "x",
	}, 0)
	put(t, q, Message{To: "a", From: "n", Text: "x"}, 0)
}

func TestPutKnown(t *testing.T) {
	q := New(Options{
		TTL:             time.Hour,
		PerAgent:        1,
		PerSenderMinute: 1,
		MessageBytes:    3,
	})
	notice := put(t, q, Message{To: "a", Key: key(1, 0), Text: "abc"}, 0)
	send := put(t, q, Message{To: "a", Ref: "r", Text: "abc"}, 0)
	again := func(m Message, s float64) ID {
		got, err := q.Put(m, sec(s))
		if err != nil {
			t.Error(err)
		}
		return got.ID
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"waiting", func() {}},
		{"offered", func() { offer(t, q, "a", Hook, 1); offer(t, q, "a", Hook, 1) }},
		{"heard", func() { q.Heard("a", notice.Line()+send.Line(), sec(2)) }},
	} {
		c.do()
		q.Take()
		before := q.All()
		if got := again(Message{To: "a", Key: key(1, 0), Text: "other, and too long"}, 3); got != notice.ID {
			t.Errorf("%s: the known key is %s, want %s", c.name, got, notice.ID)
		}
		if got := again(Message{To: "a", Ref: "r", Text: "\xff"}, 3); got != send.ID {
			t.Errorf("%s: the known ref is %s, want %s", c.name, got, send.ID)
		}
		if diff := cmp.Diff(before, q.All()); diff != "" {
			t.Errorf("%s: (-before +after):\n%s", c.name, diff)
		}
		if _, ok := q.Take(); ok {
			t.Errorf("%s: something is to be stored", c.name)
		}
	}
	other := []ID{
		again(Message{To: "b", Ref: "r", Text: "abc"}, 100),
		again(Message{To: "a", Key: key(2, 0), Text: "abc"}, 100),
		again(Message{
			To:   "a",
			Key:  key(3, 0),
			Ref:  "r",
			Text: "abc",
		}, 100), // a notice has no ref
	}
	for _, id := range other {
		if id == notice.ID || id == send.ID {
			t.Errorf("%s is not another", id)
		}
	}
	q.Check(sec(3603), noTranscript) // the hour after the end is over
	if got := again(Message{To: "a", Ref: "r", Text: "abc"}, 3604); got == send.ID {
		t.Error("the message is still remembered")
	}
}

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
	for i, m := range []Message{{
		To:        "a",
		Text:      "1",
		Unmetered: true,
	}, {
		To:        "a",
		Text:      "2",
		Unmetered: true,
		From:      "x",
	}, {
		To:   "a",
		Text: "3",
		From: "y",
	}} {
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

// TestRename: messages, refs and a hold of the old id are those of the new one, in order.
func TestRename(t *testing.T) {
	q := New(Defaults())
	first := put(t, q, Message{To: "old", Ref: "r", Text: "1"}, 0)
	second := put(t, q, Message{To: "new", Ref: "s", Text: "2"}, 1)
	q.Hold("old", true)
	q.Take()
	q.Rename("old", "")
	q.Rename("nobody", "new")
	q.Rename("old", "new")
	first.To = "new"
	if diff := cmp.Diff([]Message{first, second}, q.Of("new")); diff != "" || q.Of("old") != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d, _ := q.Take(); len(d.Messages) != 1 {
		t.Errorf("%d messages are to be stored", len(d.Messages))
	}
	if _, ok := q.Offer("new", Hook, alerts.Sequential, sec(3)); ok {
		t.Error("the hold was lost")
	}
	q.Hold("new", false)
	if m := offer(t, q, "new", Hook, 3); m.ID != first.ID {
		t.Errorf("%q is offered first", m.Text)
	}
	if m := put(t, q, Message{To: "new", Ref: "r", Text: "x"}, 4); m.ID != first.ID {
		t.Errorf("the ref is of %q", m.Text)
	}
	if got := q.Heard("new", first.Line(), sec(5)); len(got) != 1 {
		t.Error("the renamed agent's transcript confirms nothing")
	}
}
