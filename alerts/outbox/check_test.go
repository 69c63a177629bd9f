package outbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

func noTranscript(alerts.AgentID, time.Time) (time.Time, bool) { return time.Time{}, false }

func readUpTo(s float64) ReadUntil {
	return func(alerts.AgentID, time.Time) (time.Time, bool) { return sec(s), true }
}

// Only of the answer to a hook is it asked when it was given: what is typed shows whenever.
func TestCheckAsksWhenAHookWasAnswered(t *testing.T) {
	for by, want := range map[Carrier]time.Time{Hook: sec(3), Tmux: {}, Restart: {}} {
		q := New(Options{})
		put(t, q, Message{To: "a", Text: "x"}, 0)
		q.Offer("a", by, alerts.Sequential, sec(3))
		q.Check(sec(4), func(_ alerts.AgentID, answered time.Time) (time.Time, bool) {
			if !answered.Equal(want) {
				t.Errorf("%s: answered at %v, want %v", by, answered, want)
			}
			return sec(4), true
		})
	}
}

// TestCheck lets time pass after one message was put at 0 s and is offered at once
// whenever it waits.
func TestCheck(t *testing.T) {
	type step struct {
		at, until float64 // until below 0: there is no transcript
		want      string
		next      float64 // 0: not looked at
	}
	const none, hour = -1.0, 3600.0
	for _, c := range []struct {
		name   string
		notice bool
		offers int
		steps  []step
	}{
		{"a send without a transcript", false, 0, []step{
			{0, none, "offered hook 1", 30}, {29, none, "offered hook 1", 30}, {30, none, "waiting hook 1", hour},
			{40, none, "offered hook 2", 70}, {70, none, "unconfirmed hook 2", 70 + hour},
			{70 + hour, none, "gone", 0},
		}},
		{"a notice without a transcript", true, 0, []step{
			{
				29,
				none,
				"offered hook 1",
				30,
			}, {
				30,
				none,
				"unconfirmed hook 1",
				30 + hour,
			}, {
				29 + hour,
				none,
				"unconfirmed hook 1",
				30 + hour,
			},
		}},
		{"a send that a transcript lacks", false, 0, []step{
			{
				0,
				0,
				"offered hook 1",
				30,
			}, {
				30,
				29,
				"offered hook 1",
				31,
			}, {
				40,
				29.9,
				"offered hook 1",
				41,
			}, {
				50,
				10,
				"offered hook 1",
				70,
			},
			{
				60,
				30,
				"waiting hook 1",
				hour,
			}, {
				60,
				60,
				"offered hook 2",
				90,
			}, {
				95,
				90,
				"waiting hook 2",
				hour,
			}, {
				100,
				100,
				"offered hook 3",
				130,
			},
		}},
		{"a notice that a transcript lacks", true, 0, []step{
			{30, 30, "waiting hook 1", hour}, {60, 60, "offered hook 2", 90}, {90, 90, "waiting hook 2", hour},
		}},
		{"offered often enough", false, 2, []step{
			{30, 30, "waiting hook 1", hour}, {31, 31, "offered hook 2", 61}, {61, 61, "unconfirmed hook 2", 61 + hour},
		}},
		{"the transcript disappears", false, 0, []step{
			{
				30,
				30,
				"waiting hook 1",
				hour,
			}, {
				31,
				none,
				"offered hook 2",
				61,
			}, {
				61,
				none,
				"unconfirmed hook 2",
				61 + hour,
			},
		}},
		{"the transcript appears", true, 0, []step{
			{29, none, "offered hook 1", 30}, {40, 0, "offered hook 1", 70}, {50, 30, "waiting hook 1", hour},
		}},
		{"the transcript is never read on", true, 0, []step{
			{29 + hour, 20, "offered hook 1", 39 + hour}, {30 + hour, 20, "unconfirmed hook 1", 30 + 2*hour},
		}},
		{"the transcript is read too late to offer it again", false, 0, []step{
			{29 + hour, 0, "offered hook 1", 59 + hour}, {29.5 + hour, 30, "expired hook 1", 29.5 + 2*hour},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := New(Options{TTL: time.Hour, Offers: c.offers})
			m := Message{To: "a", Text: "x"}
			if c.notice {
				m.Key = key(1, 0)
			}
			m = put(t, q, m, 0)
			q.Offer("a", Hook, alerts.Sequential, sec(0))
			var got []step
			for i, s := range c.steps {
				if i > 0 {
					q.Offer("a", Hook, alerts.Sequential, sec(s.at))
				}
				read := readUpTo(s.until)
				if s.until < 0 {
					read = noTranscript
				}
				next := q.Check(sec(s.at), read)
				seconds := next.Sub(sec(0)).Seconds()
				if next.IsZero() {
					seconds = 0
				}
				got = append(got, step{s.at, s.until, state(q, m.ID), seconds})
			}
			if diff := cmp.Diff(c.steps, got, cmp.AllowUnexported(step{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckExpires(t *testing.T) {
	q := New(Options{TTL: time.Hour})
	m := put(t, q, Message{To: "a", Ref: "r", Text: strings.Repeat("é", 100)}, 0)
	if next := q.Check(sec(3599), noTranscript); next != sec(3600) || state(q, m.ID) != "waiting none 0" {
		t.Errorf("%s, next %v", state(q, m.ID), next)
	}
	if next := q.Check(sec(3600), noTranscript); next != sec(7200) || state(q, m.ID) != "expired none 0" {
		t.Errorf("%s, next %v", state(q, m.ID), next)
	}
	if m, _ := q.Find(m.ID); m.Text != strings.Repeat("é", 80) {
		t.Errorf("of the text is left %q", m.Text)
	}
	q.Take()
	if next := q.Check(sec(7200), noTranscript); !next.IsZero() || len(q.All()) != 0 {
		t.Errorf("%s, next %v", state(q, m.ID), next)
	}
	if n := len(q.ids) + len(q.agents) + len(q.open) + len(q.changed); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	want := Delta{Gone: []ID{m.ID}, Counters: q.Counters()}
	if d, ok := q.Take(); !ok || !cmp.Equal(want, d) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, d))
	}
}

// TestClockSetBack: a message neither waits for the clock to come back, nor is it
// offered again because its proof is stamped before the offer.
func TestClockSetBack(t *testing.T) {
	const back = -10 * 365 * 86400
	q := New(Options{TTL: time.Hour})
	heard := put(t, q, Message{To: "a", Text: "1"}, 0)
	lost := put(t, q, Message{To: "a", Text: "2"}, 0)
	waits := put(t, q, Message{To: "a", Text: "3"}, 0)
	ended := put(t, q, Message{To: "a", Text: "4"}, 0)
	offer(t, q, "a", Hook, 0)
	offer(t, q, "a", Hook, 0)
	q.Cancel("a", ended.ID, sec(0))
	q.Take()
	if q.Check(sec(-20), noTranscript); len(first(q.Take()).Messages) != 0 {
		t.Error("stamps of 20 s ahead count as a clock that was set back")
	}
	if next := q.Check(sec(back), noTranscript); next != sec(back+30) {
		t.Errorf("next %v", next)
	}
	if d := first(q.Take()); len(d.Messages) != 4 {
		t.Errorf("%d messages are to be stored", len(d.Messages))
	}
	if got := q.Heard("a", heard.Line(), sec(back+1)); len(got) != 1 {
		t.Error("not heard")
	}
	q.Check(sec(back+30), readUpTo(back+30))
	if got := state(q, lost.ID); got != "waiting hook 1" {
		t.Errorf("the lost one is %s", got)
	}
	q.Check(sec(back+3600), noTranscript)
	if got := state(q, waits.ID) + ", " + state(q, ended.ID); got != "expired none 0, gone" {
		t.Error(got)
	}
}

// first is an answer without its ok.
func first[T any](v T, _ bool) T { return v }

func TestWithdraw(t *testing.T) {
	q := New(Defaults())
	keys := []alerts.Key{
		key(1, alerts.KindWarning),
		key(1, alerts.KindCritical),
		key(1, alerts.KindForecast),
		key(9, alerts.KindStorm),
	}
	var ids []ID
	for _, k := range keys[:3] {
		ids = append(ids, put(t, q, Message{To: "a", Key: k, Text: "x"}, 0).ID)
	}
	send := put(t, q, Message{To: "a", Text: "x"}, 0)
	m := offer(t, q, "a", Hook, 1)
	q.Heard("a", m.Line(), sec(2))
	offer(t, q, "a", Tmux, 3)
	var got []ID
	for range 2 {
		for _, m := range q.Withdraw(append(keys, alerts.Key{}), sec(4)) {
			got = append(got, m.ID)
			if m.State != Withdrawn || m.Ended != sec(4) {
				t.Errorf("withdrawn as %+v", m)
			}
		}
	}
	if diff := cmp.Diff(ids[1:], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := state(q, ids[0]) + ", " + state(q, ids[1]) + ", " + state(q, ids[2]) + ", " + state(q, send.ID)
	if all != "confirmed hook 1, withdrawn tmux 1, withdrawn none 0, waiting none 0" {
		t.Error(all)
	}
	c := q.Counters()
	if c.Count(Tmux, Withdrawn) != 1 || c.Count(None, Withdrawn) != 1 || c.Count(Hook, Confirmed) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestCancel(t *testing.T) {
	q := New(Options{Offers: 1})
	for _, c := range []struct {
		name, want string
		err        error
		before     func(id ID)
	}{
		{"waiting", "withdrawn none 0", nil, func(ID) {}},
		{"withdrawn", "withdrawn none 0", nil, func(id ID) { q.Cancel("a", id, sec(1)) }},
		{"called", "withdrawn tmux 1", nil, func(ID) { q.Call("a", sec(1)) }},
		{
			"called and asked for",
			"offered tmux 1",
			ErrOffered,
			func(id ID) { q.Call("a", sec(1)); q.Answer("a", id, sec(2)) },
		},
		{"offered", "offered hook 1", ErrOffered, func(ID) { offer(t, q, "a", Hook, 1) }},
		{
			"waiting again",
			"withdrawn hook 1",
			nil,
			func(ID) { offer(t, q, "a", Hook, 1); q.Check(sec(31), noTranscript) },
		},
		{"withdrawn while it waits again", "withdrawn hook 1", nil, func(id ID) {
			offer(t, q, "a", Hook, 1)
			q.Check(sec(31), noTranscript)
			q.Cancel("a", id, sec(32))
		}},
		{
			"unconfirmed",
			"unconfirmed hook 1",
			ErrOffered,
			func(ID) { offer(t, q, "a", Hook, 1); q.Check(sec(31), readUpTo(31)) },
		},
		{
			"heard",
			"confirmed hook 1",
			ErrOffered,
			func(ID) { offer(t, q, "a", Hook, 1); q.Heard("a", q.All()[0].Line(), sec(2)) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q.Restore(nil, Counters{})
			id := put(t, q, Message{To: "a", Text: "x"}, 0).ID
			c.before(id)
			m, err := q.Cancel("a", id, sec(40))
			if !errors.Is(err, c.err) || m.ID != id || state(q, id) != c.want {
				t.Errorf("%v, %s, want %v, %s", err, state(q, id), c.err, c.want)
			}
			if _, err := q.Cancel("b", id, sec(40)); !errors.Is(err, ErrUnknown) {
				t.Errorf("another agent's message: %v", err)
			}
		})
	}
	if _, err := q.Cancel("a", "000000", sec(0)); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// TestCountersOfOddValues: what a later version has stored is counted somewhere, or nowhere.
func TestCountersOfOddValues(t *testing.T) {
	var c Counters
	c.add(None, Refused)
	c.add(9, Refused)
	if c.Count(None, Refused) != 2 || c.Count(None, Waiting) != 0 || c.Count(9, Refused) != 0 ||
		c.Count(None, 99) != 0 {
		t.Errorf("a count is wrong: %+v", c)
	}
}

// TestClockSetBackJudgesEachStamp: what is left alone must not depend on a message that
// may have been forgotten.
func TestClockSetBackJudgesEachStamp(t *testing.T) {
	q := New(Defaults())
	near := put(t, q, Message{To: "a", Text: "1"}, 20)
	far := put(t, q, Message{To: "a", Text: "2"}, 40)
	q.Check(sec(0), noTranscript)
	offer(t, q, "a", Hook, 90)
	q.Check(sec(50), noTranscript)
	var got []time.Time
	for _, m := range []Message{first(q.Find(near.ID)), first(q.Find(far.ID))} {
		got = append(got, m.Made, m.Offered)
	}
	if diff := cmp.Diff([]time.Time{sec(20), sec(50), sec(0), {}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTakeGone: what was forgotten is not stored, unless its id has been given anew.
func TestTakeGone(t *testing.T) {
	q := New(Options{TTL: time.Hour})
	other := New(Options{})
	m := put(t, q, Message{To: "a", Text: "1"}, 0)
	q.Cancel("a", m.ID, sec(0))
	q.Check(sec(3600), noTranscript)
	if d := first(q.Take()); len(d.Messages) != 0 || !cmp.Equal([]ID{m.ID}, d.Gone) {
		t.Errorf("%+v", d)
	}
	next := Message{To: "a", Text: "2"}
	q.gone[put(t, other, next, 0).ID] = struct{}{}
	m = put(t, q, next, 0)
	if d := first(q.Take()); !cmp.Equal([]Message{m}, d.Messages) || len(d.Gone) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestForget: the keys of an agent that was forgotten are said anew, also those that were heard before.
func TestForget(t *testing.T) {
	q := New(Defaults())
	told := key(1, alerts.KindWarning)
	wait := key(1, alerts.KindCompacted)
	other := alerts.Key{Agent: "b", Cycle: 1}
	put(t, q, Message{To: "a", Key: told, Text: "x"}, 0)
	q.Heard("a", offer(t, q, "a", Hook, 1).Line(), sec(2))
	put(t, q, Message{To: "parent", Key: wait, Text: "x"}, 3)
	about := put(t, q, Message{To: "a", Key: other, Text: "x"}, 4)
	send := put(t, q, Message{To: "a", Text: "x"}, 5)
	q.Take()
	q.Forget("a", sec(6))
	q.Forget("nobody", sec(6))
	if diff := cmp.Diff([]Message{about, send}, q.All()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := first(q.Take()); len(d.Gone) != 2 || len(d.Messages) != 0 || d.Counters.Count(None, Withdrawn) != 1 {
		t.Errorf("%+v", d)
	}
	if _, ok := q.Offer("parent", Hook, alerts.Sequential, sec(7)); ok {
		t.Error("what was withdrawn is offered")
	}
	for _, k := range []alerts.Key{told, wait} {
		if m := put(t, q, Message{To: "a", Key: k, Text: "x"}, 8); m.State != Waiting || m.Made != sec(8) {
			t.Errorf("%s is known still: %+v", k, m)
		}
	}
	if next := q.Check(sec(9), noTranscript); next != about.Made.Add(Defaults().TTL) {
		t.Errorf("next %v", next)
	}
}

// How far a transcript has been read may depend on when the offer was made: what shows
// late in it is not offered again for that.
func TestCheckAsksForTheOffer(t *testing.T) {
	q := New(Defaults())
	late := put(t, q, Message{To: "a", Text: "one"}, 0)
	offer(t, q, "a", Hook, 1)
	early := put(t, q, Message{To: "a", Text: "two"}, 2)
	offer(t, q, "a", Hook, 5)
	q.Check(sec(60), func(_ alerts.AgentID, offered time.Time) (time.Time, bool) {
		if offered.Equal(sec(1)) {
			return sec(1), true
		}
		return sec(59), true
	})
	if got := state(q, late.ID) + ", " + state(q, early.ID); got != "offered hook 1, waiting hook 1" {
		t.Error(got)
	}
}
