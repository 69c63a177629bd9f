package outbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// model drives a queue at random, and a twin that is restored from its own messages after
// each step. It checks invariants of the queue's state.
type model struct {
	t      *testing.T
	rng    *rand.Rand
	q      *Queue
	twin   *Queue
	now    float64
	held   map[string]bool
	stored map[string]Message // the sum of the deltas
	before map[string]Message

	accepted, ended uint64
}

const modelTTL = time.Hour

func newModel(t *testing.T, seed uint64) *model {
	o := Options{
		PerAgent:        4,
		MessageBytes:    120,
		PerSenderMinute: 5,
		TTL:             modelTTL,
		Offers:          4,
	}
	held := map[string]bool{}
	holds := func(to string) bool { return held[to] }
	return &model{
		t:      t,
		rng:    rand.New(rand.NewPCG(seed, 1)),
		q:      New(o, holds),
		twin:   New(o, holds),
		held:   held,
		stored: map[string]Message{},
		before: map[string]Message{},
	}
}

func (m *model) agent() string { return "abc"[m.rng.IntN(3):][:1] }

// some returns a message, mostly one of the queue.
func (m *model) some() Message {
	all := m.q.Of("")
	if len(all) == 0 || m.rng.IntN(20) == 0 {
		return Message{ID: "000000", To: m.agent()}
	}
	return all[m.rng.IntN(len(all))]
}

// both makes the same call on both queues and compares the answers.
func (m *model) both(name string, do func(*Queue) any) {
	m.t.Helper()
	want := do(m.q)
	got := do(m.twin)
	if !reflect.DeepEqual(want, got) {
		m.t.Fatalf("%s (-kept +restored):\n%s", name, cmp.Diff(want, got))
	}
}

// answer combines an answer and its error.
func answer(m Message, err error) any { return []any{m, fmt.Sprint(err)} }

func (m *model) step() {
	m.now += m.rng.Float64() * 20
	switch m.rng.IntN(60) {
	case 0:
		m.now += m.rng.Float64() * 7200
	case 1:
		m.now -= m.rng.Float64() * 7200
	}
	at := sec(m.now)
	a := m.agent()
	mode := alerts.Mode(m.rng.IntN(3))
	by := 1 + Carrier(m.rng.IntN(int(Carriers)-1))
	switch m.rng.IntN(14) {
	case 0, 1, 2:
		msg := m.message(a, mode)
		m.both("Put", func(q *Queue) any { return answer(q.Put(msg, at)) })
	case 3, 4, 5:
		m.offer(a, by, mode, at)
	case 6, 7:
		text := m.received()
		read := sec(m.now - m.rng.Float64()*40 + 2)
		m.both("Confirm", func(q *Queue) any { return q.Confirm(a, text, read) })
	case 8, 9:
		m.check(at)
	default:
		m.rare(a, at)
	}
	m.verify()
}

func (m *model) offer(a string, by Carrier, least alerts.Mode, at time.Time) {
	var offered Message
	fit := func(m *Message) bool { return m.Mode >= least }
	offer := func(q *Queue) Message { return q.Offer(a, by, at, fit) }
	thread := []string{"one", "two"}[m.rng.IntN(2)]
	switch m.rng.IntN(6) {
	case 2:
		by = Queued
		offer = func(q *Queue) Message { return q.Enqueue(a, thread, at) }
	case 0:
		by = Tmux
		offer = func(q *Queue) Message { return q.Call(a, at) }
	case 1:
		by = Tmux
		offer = func(q *Queue) Message {
			return q.Offer(
				a,
				Tmux,
				at,
				func(m *Message) bool { return m.Typeable(false) },
			)
		}
	}
	m.both("Offer", func(q *Queue) any { offered = offer(q); return offered })
	if offered.ID != "" && m.held[a] && by != Restart {
		m.t.Fatalf("got offer %+v", offered)
	}
	if offered.ID != "" && !at.Before(offered.Made.Add(modelTTL)) {
		m.t.Fatalf("offered at %v, too late: %+v", at, offered)
	}
}

// check advances the time; each agent's transcript is different: none, slow or quick.
func (m *model) check(at time.Time) {
	delay := m.rng.Float64() * 40
	read := func(to string, _ time.Time) (time.Time, bool) {
		return at.Add(-time.Duration(delay*float64(to[0]-'a')) * time.Second), to != "a"
	}
	m.both("Check", func(q *Queue) any {
		next := q.Check(at, read)
		if !next.IsZero() && next.Before(at) || next.IsZero() && len(q.Of("")) > 0 {
			m.t.Fatalf("checked at %v, next %v", at, next)
		}
		return next
	})
}

// rare makes rare events.
func (m *model) rare(a string, at time.Time) {
	msg := m.some()
	switch m.rng.IntN(10) {
	case 8:
		m.both("Placed", func(q *Queue) any { q.Placed(msg.ID); return nil })
	case 9:
		thread := []string{"", "one", "two"}[m.rng.IntN(3)]
		m.both(
			"Leave",
			func(q *Queue) any { q.Leave(func(string) string { return thread }); return nil },
		)
	case 0:
		m.both("Unoffer", func(q *Queue) any { q.Unoffer(msg.ID); return nil })
	case 1:
		m.both("Cancel", func(q *Queue) any { return answer(q.Cancel(msg.To, msg.ID, at)) })
	case 2:
		keys := []alerts.Key{msg.Key, key(m.rng.IntN(6), 0)}
		m.both("Withdraw", func(q *Queue) any {
			return q.Withdraw(func(m *Message) bool { return slices.Contains(keys, m.Key) }, at)
		})
	case 3:
		m.both(
			"Answer",
			func(q *Queue) any {
				return q.Answer(msg.To, msg.ID, at)
			},
		)
	case 4, 5:
		m.held[a] = !m.held[a]
	case 6:
		m.forget(at)
	case 7:
		if b := m.agent(); m.rng.IntN(4) == 0 && a != b {
			m.held[a], m.held[b] = false, m.held[a] || m.held[b]
			m.both("Rename", func(q *Queue) any { q.Rename(a, b); return nil })
		}
	}
}

// forget drops the notices about one agent.
func (m *model) forget(at time.Time) {
	if m.rng.IntN(10) > 0 {
		return
	}
	m.both("Forget", func(q *Queue) any { q.Forget("a", at); return nil })
	for id, msg := range m.before {
		if !msg.Notice() || msg.Key.Agent != "a" { // Rename may have changed it
			continue
		}
		if !msg.State.Ended() {
			m.ended++
		}
		delete(m.before, id)
	}
}

// message returns a message to put: a notice, or a send with or without a ref.
func (m *model) message(to string, mode alerts.Mode) Message {
	msg := Message{
		To:   to,
		Mode: mode,
		From: []string{"", "web", "api"}[m.rng.IntN(3)],
		Text: strings.Repeat("é ", m.rng.IntN(70)),
	}
	switch m.rng.IntN(4) {
	case 0:
		msg.Key = key(m.rng.IntN(6), alerts.Kind(m.rng.IntN(3)))
	case 1:
		msg.Ref = fmt.Sprint(m.rng.IntN(5))
	case 2:
		msg.Text += " see #" + m.some().ID
	}
	return msg
}

// received returns a text with the lines of some messages, cut in the middle if it is long.
func (m *model) received() string {
	var lines []string
	for range m.rng.IntN(4) {
		lines = append(lines, m.some().Line())
	}
	text := strings.Join(lines, []string{"\n", " "}[m.rng.IntN(2)])
	if len(text) > 256 {
		text = text[:240] + text[len(text)-16:]
	}
	return text
}

// verify compares the queues, the stored state, and the state with the previous one; then it
// restores the twin.
func (m *model) verify() {
	t := m.t
	all := m.q.Of("")
	if again := m.twin.Of(""); !slices.Equal(all, again) { // cmp.Diff is slow
		t.Fatalf("all (-kept +restored):\n%s", cmp.Diff(all, again))
	}
	if m.q.Counters() != m.twin.Counters() {
		t.Fatalf(
			"counters (-kept +restored):\n%s",
			cmp.Diff(m.q.Counters(), m.twin.Counters()),
		)
	}
	m.store(all)
	m.compare(all)
	m.twin = restored(t, m.twin)
}

// store applies the result of Take.
func (m *model) store(all []Message) {
	changed := 0
	ok := m.q.Take(func(id string, msg *Message) {
		changed++
		if msg == nil {
			delete(m.stored, id)
		} else {
			m.stored[id] = *msg
		}
	})
	if ok != (changed > 0) {
		m.t.Fatalf("took %v, %d changes", ok, changed)
	}
	known := map[string]Message{}
	for _, msg := range all {
		known[msg.ID] = msg
	}
	if !maps.Equal(known, m.stored) {
		m.t.Fatalf("(-known +stored):\n%s", cmp.Diff(known, m.stored))
	}
}

// compare checks each message against the previous step, and the sums.
func (m *model) compare(all []Message) {
	t := m.t
	now := map[string]Message{}
	keys := map[alerts.Key]bool{}
	open := 0
	last := uint64(0)
	for _, msg := range all {
		was, old := m.before[msg.ID]
		switch {
		case !old:
			m.accepted++
		case was.State.Ended():
			was.To, msg.To, was.Key.Agent = "", "", msg.Key.Agent // Rename
			if was != msg {
				t.Fatalf("changed after its end (-before +after):\n%s", cmp.Diff(was, msg))
			}
		case msg.State.Ended():
			m.ended++
		}
		if msg.Seq <= last || msg.Notice() && keys[msg.Key] {
			t.Fatalf("out of order, or twice: %+v", msg)
		}
		if msg.Calling && msg.State != Offered || msg.Calls < 0 || msg.Calls > msg.Offers ||
			msg.State == Confirmed && msg.Calls == msg.Offers {
			t.Fatalf("called and not: %+v", msg)
		}
		if (msg.Offers == 0) != (msg.Via == None) ||
			(msg.Offers == 0) != msg.First.IsZero() ||
			msg.State == Offered && msg.Offers == 0 {
			t.Fatalf("offered and not: %+v", msg)
		}
		if msg.Placed && msg.Via != Queued ||
			old && was.mayBeQueued() && !was.State.Ended() && msg.Via != Queued &&
				msg.Offers > was.Offers {
			t.Fatalf("may be in a queue, and was offered by another carrier: %+v", msg)
		}
		if !msg.State.Ended() {
			open++
		}
		last, keys[msg.Key], now[msg.ID] = msg.Seq, msg.Notice(), msg
	}
	for id, was := range m.before {
		if _, here := now[id]; !here &&
			(!was.State.Ended() || sec(m.now).Before(was.Ended.Add(modelTTL))) {
			t.Fatalf("lost: %+v", was)
		}
	}
	var counted uint64
	for c := range Carriers {
		for s := Confirmed; s < States; s++ {
			counted += m.q.Counters().Count(c, s)
		}
	}
	if counted != m.ended || m.accepted != m.ended+uint64(open) || open != m.q.Waiting() {
		t.Fatalf(
			"%d accepted, %d ended, %d counted, %d open of %d",
			m.accepted,
			m.ended,
			counted,
			open,
			m.q.Waiting(),
		)
	}
	m.before = now
}

// restored returns a queue with the JSON state of another.
func restored(t *testing.T, q *Queue) *Queue {
	t.Helper()
	b, err := json.Marshal(q.Of(""))
	if err != nil {
		t.Fatal(err)
	}
	var messages []Message
	if err := json.Unmarshal(b, &messages); err != nil {
		t.Fatal(err)
	}
	again := New(q.options, q.held)
	again.Restore(messages, q.Counters())
	return again
}

func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("uses one goroutine, and is ten times as slow with the race detector")
	}
	var sum Counters
	for seed := range uint64(25) {
		m := newModel(t, seed)
		for range 400 {
			m.step()
		}
		c := m.q.Counters()
		for via := range sum.Ended {
			for o := range sum.Ended[via] {
				sum.Ended[via][o] += c.Ended[via][o]
			}
		}
	}
	for _, s := range []State{
		Confirmed,
		Unconfirmed,
		Expired,
		Withdrawn,
	} { // otherwise the model covers too little
		if sum.Count(Hook, s)+sum.Count(Tmux, s)+sum.Count(None, s) < 10 {
			t.Errorf("the model had %s only %d times: %v", s, sum.Count(Hook, s), sum)
		}
	}
}
