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
	if n := len(q.ids) + len(q.open) + len(q.changed); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	want := Delta{Gone: []ID{m.ID}, Counters: q.Counters()}
	if d, ok := q.Take(); !ok || !cmp.Equal(want, d) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, d))
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
