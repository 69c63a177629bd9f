package alerts

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sm/transcript"
)

// delivery is an event on its way to the engine.
type delivery struct {
	at float64 // time of arrival
	ev Event
}

// faults are the shares of events that are lost, repeated and late, and the largest
// delay in seconds.
type faults struct {
	lost, doubled, late float64
	lateness            float64
}

// life is one simulated agent and its true history.
type life struct {
	id         string
	rng        *rand.Rand
	faults     faults
	transcript bool // it writes one; otherwise there are only hooks and samples
	now        float64
	written    float64 // when the last record arrived
	size       int64
	failed     float64 // time of the last failed compaction
	mail       []delivery
	openings   []float64 // true starts of cycles
	top        []int64   // the largest reading of each cycle
	mild       []bool    // whether a reading needed a warning before any was critical
	key        transcript.Key
}

func (l *life) event(k EventKind) Event {
	return Event{
		Kind:    k,
		Agent:   l.id,
		At:      sec(l.now),
		Reading: Reading{Window: window, Model: "m"},
	}
}

// record sends an event of the transcript: in order, never lost, seldom late.
func (l *life) record(ev Event) {
	delay := 0.01 * l.rng.Float64()
	if l.rng.Float64() < l.faults.late {
		delay = 2 * l.rng.Float64()
	}
	l.written = max(l.written, l.now+delay)
	if l.transcript {
		l.mail = append(l.mail, delivery{l.written, ev})
	}
}

// hook sends the report of a separate process.
func (l *life) hook(ev Event) {
	copies := 1
	if l.rng.Float64() < l.faults.doubled {
		copies = 2
	}
	for range copies {
		if l.rng.Float64() < l.faults.lost {
			continue
		}
		delay := 0.05 * l.rng.Float64()
		if l.rng.Float64() < l.faults.late {
			delay = l.faults.lateness * l.rng.Float64()
		}
		l.mail = append(l.mail, delivery{l.now + delay, ev})
		ev.At = ev.At.Add(time.Millisecond)
	}
}

func (l *life) pass(s float64) { l.now += s }

// reply is one answer of the model, with the sample that follows it.
func (l *life) reply() {
	ev := l.event(EventReading)
	ev.Tokens = l.size
	l.record(ev)
	n := len(l.top) - 1
	l.top[n] = max(l.top[n], l.size)
	l.mild[n] = l.mild[n] || l.top[n] >= window*495/1000 && l.top[n] < window*645/1000
	l.pass(0.3)
	l.redraw()
}

// redraw sends a sample of the context's size as the client has it.
func (l *life) redraw() {
	ev := l.event(EventReading)
	ev.Tokens = l.size
	ev.Source = transcript.FromStatusline
	l.hook(ev)
}

func (l *life) open() {
	l.openings = append(l.openings, l.now)
	l.top, l.mild = append(l.top, 0), append(l.mild, false)
	l.key++
}

// compact may fail: then only the attempt is reported.
func (l *life) compact(auto, fails bool) {
	ev := l.event(EventCompacting)
	ev.Trigger = transcript.Manual
	if auto {
		ev.Trigger = transcript.Auto
	}
	l.hook(ev)
	l.pass(0.2)
	l.redraw() // still the old size
	l.pass(20 + 180*l.rng.Float64())
	if fails {
		l.failed = l.now
		return
	}
	was := l.size
	sign := func(s Sign) {
		ev.Kind, ev.Sign, ev.At = EventCompacted, s, sec(l.now)
		l.hook(ev)
		l.pass(0.1 * l.rng.Float64())
	}
	l.open()
	for i, s := range l.rng.Perm(4) {
		if Sign(s) == SignBoundary {
			ev.Kind, ev.Sign, ev.At, ev.PreTokens, ev.Key = EventCompacted, SignBoundary, sec(l.now), was, l.key
			l.record(ev)
			ev.PreTokens = 0
			ev.Key = 0
			continue
		}
		sign(Sign(s))
		if i == 2 {
			l.redraw() // the client may not have the new size yet
		}
	}
	l.openings[len(l.openings)-1] = l.now + 0.01 // records stamped until now show the old context
	l.size = int64(window * (0.15 + 0.45*l.rng.Float64()))
	l.size = min(l.size, was*3/4)
	l.pass(3 + 10*l.rng.Float64())
	l.reply()
}

// forget is /clear: another session of the same agent.
func (l *life) forget() {
	l.open()
	ev := l.event(EventReset)
	ev.Cause = CauseClear
	ev.Key = 1000 + l.key
	l.hook(ev)
	l.pass(0.05)
	ev.Cause, ev.At = CauseSession, sec(l.now)
	l.record(ev)
	l.size = 20_000
}

// turn is a prompt and its calls.
func (l *life) turn(usual float64) {
	l.record(l.event(EventTurnStart))
	l.hook(l.event(EventTurnStart))
	for range 1 + l.rng.IntN(12) {
		l.pass(5 + 40*l.rng.Float64())
		l.size = min(l.size+int64(usual*l.rng.ExpFloat64()), window)
		l.reply()
		if float64(l.size) > window*(0.78+0.1*l.rng.Float64()) {
			l.compact(true, l.rng.IntN(6) == 0)
		}
		if l.size > window*95/100 {
			l.compact(true, false)
		}
	}
	if l.record(l.event(EventTurnEnd)); !l.transcript {
		l.hook(l.event(EventTurnEnd)) // such as from the client's registry
	}
}

func (l *life) live(until float64) {
	usual := 500 + 3000*l.rng.Float64()
	if l.rng.IntN(8) == 0 {
		usual = 15_000 // a fill in a turn or two: storms
	}
	l.top = []int64{0}
	l.mild = []bool{false}
	ev := l.event(EventSeen)
	ev.Parent = "boss"
	ev.Name = l.id
	l.mail = append(l.mail, delivery{l.now, ev})
	ev = l.event(EventActive)
	ev.On = true
	l.mail = append(l.mail, delivery{l.now, ev})
	l.size = 20_000
	for l.now < until {
		l.turn(usual)
		l.pass(20 + 400*l.rng.ExpFloat64())
		switch l.rng.IntN(20) {
		case 0:
			l.forget()
		case 1:
			if l.size > 60_000 {
				l.compact(false, false)
			}
		case 2:
			l.redraw()
		case 3: // a fall without any cause, which without a transcript may look like one with
			if l.transcript && l.now > l.failed+300 {
				l.size = l.size * 9 / 10
			}
		}
		l.pass(30)
	}
}

// cycleAt returns the number of openings up to a time.
func (l *life) cycleAt(t time.Time) int {
	n := 0
	for _, o := range l.openings {
		if !sec(o).After(t) {
			n++
		}
	}
	return n
}

// simulate returns the lives of a fleet and all deliveries, in the order of arrival.
func simulate(seed uint64, agents int, hours float64, f faults) ([]*life, []delivery) {
	rng := rand.New(rand.NewPCG(seed, 24))
	var lives []*life
	var mail []delivery
	for i := range agents {
		l := &life{
			id:         fmt.Sprintf("agent-%02d", i),
			rng:        rand.New(rand.NewPCG(seed, uint64(i))),
			faults:     f,
			transcript: i%5 != 4,
			now:        600 * rng.Float64(),
			key:        transcript.Key(i * 100_000),
		}
		l.live(hours * 3600)
		lives = append(lives, l)
		mail = append(mail, l.mail...)
	}
	order := make([]int, len(mail))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(
		order,
		func(a, b int) int { return cmp.Or(cmp.Compare(mail[a].at, mail[b].at), a-b) },
	)
	sorted := make([]delivery, len(mail))
	for i, j := range order {
		sorted[i] = mail[j]
	}
	return lives, sorted
}
