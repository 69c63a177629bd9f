package outbox

import (
	"math/rand/v2"
	"testing"
	"time"

	"sm/alerts"
)

// reader is a simulated agent with a record of the messages that it received. Carriers lose
// messages and are slow, its transcript is read late, and the observer crashes.
type reader struct {
	rng        *rand.Rand
	q          *Queue
	transcript bool
	now        float64
	read       float64 // time up to which the transcript has been read
	under      []line  // offered and not received yet
	written    []line  // in the transcript, not read yet
	received   map[string]int
}

type line struct {
	at float64
	id string
	s  string
}

// tick is one second: offers arrive, written lines are read, and waiting messages are
// offered.
func (r *reader) tick(t *testing.T) {
	r.now++
	r.under = r.due(r.under, r.now, func(l line) {
		r.received[l.id]++
		if r.transcript {
			r.written = append(r.written, l)
		}
	})
	if r.transcript && r.rng.IntN(5) == 0 {
		r.read = r.now - 4*r.rng.Float64()
		r.written = r.due(r.written, r.read, func(l line) { r.q.Confirm("a", l.s, sec(l.at)) })
	}
	r.q.Check(
		sec(r.now),
		func(string, time.Time) (time.Time, bool) { return sec(r.read), r.transcript },
	)
	if r.rng.IntN(10) == 0 {
		r.q = restored(t, r.q)
	}
	m := r.q.Offer("a", Tmux, sec(r.now), nil)
	switch r.rng.IntN(4) {
	case 0: // lost on its way, or the observer crashed between the store and the effect
	case 1:
		r.q.Unoffer(m.ID) // the carrier reports the failure
	default:
		if m.ID != "" {
			r.under = append(r.under, line{r.now + 25*r.rng.Float64(), m.ID, m.Line()})
		}
	}
}

// due handles the lines up to a time and returns the others.
func (r *reader) due(lines []line, until float64, do func(line)) []line {
	var rest []line
	for _, l := range lines {
		if l.at <= until {
			do(l)
		} else {
			rest = append(rest, l)
		}
	}
	return rest
}

// TestTruth tests that with a transcript each message is received exactly once, and without
// one a notice at most once, and a send at most twice.
func TestTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("uses one goroutine, and is ten times as slow with the race detector")
	}
	var twice int
	for seed := range uint64(20) {
		r := &reader{
			rng:        rand.New(rand.NewPCG(seed, 2)),
			q:          New(Defaults(), free),
			transcript: seed%2 == 0,
			received:   map[string]int{},
		}
		for i := range 20 {
			m := Message{To: "a", Text: "x", Mode: alerts.Mode(i % 3)}
			if i%2 == 0 {
				m.Key = key(i, 0)
			}
			put(t, r.q, m)
		}
		for range 1000 {
			r.tick(t)
		}
		if n := r.q.Waiting(); n != 0 {
			t.Errorf("seed %d: %d messages have not ended", seed, n)
		}
		for _, m := range r.q.Of("") {
			n := r.received[m.ID]
			switch {
			case r.transcript && (n != 1 || m.State != Confirmed):
				t.Errorf("seed %d: received %d times: %+v", seed, n, m)
			case !r.transcript && (m.Notice() && n > 1 || n > 2 || m.State != Unconfirmed):
				t.Errorf("seed %d: received %d times: %+v", seed, n, m)
			case n == 2:
				twice++
			}
		}
	}
	if twice == 0 {
		t.Error("no send was repeated: the simulation covers too little")
	}
}
