package outbox

import (
	"math/rand/v2"
	"testing"
	"time"

	"sm/alerts"
)

// reader is a simulated agent with the truth about what it has heard. Carriers lose
// messages and are slow, its transcript is read late, and the observer crashes.
type reader struct {
	rng        *rand.Rand
	q          *Queue
	transcript bool
	now        float64
	read       float64 // up to when the transcript has been read
	under      []line  // on their way to the agent
	written    []line  // in the transcript, not read yet
	heard      map[string]int
}

type line struct {
	at float64
	id string
	s  string
}

// tick is one second: what was offered arrives, what was written is read, what waits is
// offered.
func (r *reader) tick(t *testing.T) {
	r.now++
	r.under = r.due(r.under, r.now, func(l line) {
		r.heard[l.id]++
		if r.transcript {
			r.written = append(r.written, l)
		}
	})
	if r.transcript && r.rng.IntN(5) == 0 {
		r.read = r.now - 4*r.rng.Float64()
		r.written = r.due(r.written, r.read, func(l line) { r.q.Heard("a", l.s, sec(l.at)) })
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
		r.q.Unoffer(m.ID) // the carrier knows that it failed
	default:
		if m.ID != "" {
			r.under = append(r.under, line{r.now + 25*r.rng.Float64(), m.ID, m.Line()})
		}
	}
}

// due handles the lines up to a time, and returns the others.
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

// TestTruth: with a transcript each message is heard exactly once; without one a notice
// at most once, and a send at most twice.
func TestTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: the race detector finds nothing in it, and takes ten times as long")
	}
	var twice int
	for seed := range uint64(20) {
		r := &reader{
			rng:        rand.New(rand.NewPCG(seed, 2)),
			q:          New(Defaults(), free),
			transcript: seed%2 == 0,
			heard:      map[string]int{},
		}
		for i := range 20 {
			m := Message{To: "a", Text: "x", Mode: alerts.Mode(i % 3)}
			if i%2 == 0 {
				m.Key = key(i, 0)
			}
			put(t, r.q, m, 0)
		}
		for range 1000 {
			r.tick(t)
		}
		if n := r.q.Waiting(); n != 0 {
			t.Errorf("seed %d: %d messages have not ended", seed, n)
		}
		for _, m := range r.q.Of("") {
			n := r.heard[m.ID]
			switch {
			case r.transcript && (n != 1 || m.State != Confirmed):
				t.Errorf("seed %d: heard %d times: %+v", seed, n, m)
			case !r.transcript && (m.Notice() && n > 1 || n > 2 || m.State != Unconfirmed):
				t.Errorf("seed %d: heard %d times: %+v", seed, n, m)
			case n == 2:
				twice++
			}
		}
	}
	if twice == 0 {
		t.Error("no send was ever repeated: the simulation does not try much")
	}
}
