package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// delivery is an event on its way to the engine.
type delivery struct {
	at float64 // when it arrives
	ev Event
}

// faults are the shares of events that are lost, told twice and late, and by how
// many seconds at most.
type faults struct {
	lost, doubled, late float64
	lateness            float64
}

// opened is what truly happened: a cycle began, by an automatic compaction or not.
type opened struct {
	at   float64
	auto bool
}

// life is one simulated agent with the truth about it.
type life struct {
	id         AgentID
	rng        *rand.Rand
	faults     faults
	transcript bool // it writes one; else hooks and samples are all there is
	now        float64
	written    float64 // when the last record arrived
	size       int64
	failed     float64 // when a compaction last came to nothing
	turns      int
	mail       []delivery
	openings   []opened
	top        []int64 // the largest reading of each cycle
	mild       []bool  // whether one called for a warning before any was critical
	key        transcript.Key
}

func (l *life) event(k EventKind) Event {
	return Event{Kind: k, Agent: l.id, At: sec(l.now), Window: window, Model: "m"}
}

// record sends what stands in the transcript: in order, never lost, seldom late.
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

// hook sends what a process of its own reports.
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
	l.mild[n] = l.mild[n] || l.top[n] >= window*50/100 && l.top[n] < window*65/100
	l.pass(0.3)
	l.redraw()
}

// redraw sends a sample of what the client believes the context to be.
func (l *life) redraw() {
	ev := l.event(EventReading)
	ev.Tokens, ev.Source = l.size, transcript.FromStatusline
	l.hook(ev)
}

func (l *life) open(auto bool) {
	l.openings = append(l.openings, opened{l.now, auto})
	l.top, l.mild = append(l.top, 0), append(l.mild, false)
	l.key++
}

// compact may fail: then only its attempt is seen.
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
	l.open(auto)
	for i, s := range l.rng.Perm(4) {
		if Sign(s) == SignBoundary {
			ev.Kind, ev.Sign, ev.At, ev.PreTokens, ev.Key = EventCompacted, SignBoundary, sec(l.now), was, l.key
			l.record(ev)
			ev.PreTokens, ev.Key = 0, 0
			continue
		}
		sign(Sign(s))
		if i == 2 {
			l.redraw() // the client may not know better yet
		}
	}
	l.openings[len(l.openings)-1].at = l.now // what is stamped until now shows the old context
	l.size = int64(window * (0.15 + 0.45*l.rng.Float64()))
	l.size = min(l.size, was*3/4)
	l.pass(3 + 10*l.rng.Float64())
	l.reply()
}

// forget is /clear: another session in the same seat.
func (l *life) forget() {
	l.open(false)
	ev := l.event(EventReset)
	ev.Cause, ev.Key = CauseClear, 1000+l.key
	l.hook(ev)
	l.pass(0.05)
	ev.Cause, ev.At = CauseSession, sec(l.now)
	l.record(ev)
	l.size = 20_000
}

// turn is a prompt and the calls that it leads to.
func (l *life) turn(usual float64) {
	l.turns++
	l.record(l.event(EventTurnStart))
	l.hook(l.event(EventTurnStart))
	for range 1 + l.rng.IntN(12) {
		l.pass(5 + 40*l.rng.Float64())
		l.size += int64(usual * l.rng.ExpFloat64())
		l.reply()
		if float64(l.size) > window*(0.78+0.1*l.rng.Float64()) {
			l.compact(true, l.rng.IntN(6) == 0)
		}
		if l.size > window*95/100 {
			l.compact(true, false)
		}
	}
	if l.record(l.event(EventTurnEnd)); !l.transcript {
		l.hook(l.event(EventTurnEnd)) // say, from the client's registry
	}
}

func (l *life) live(until float64) {
	usual := 500 + 3000*l.rng.Float64()
	if l.rng.IntN(8) == 0 {
		usual = 15_000 // a fill in a turn or two: storms
	}
	l.top, l.mild = []int64{0}, []bool{false}
	ev := l.event(EventSeen)
	ev.Parent, ev.Name = "boss", string(l.id)
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

// cycleAt is the number of openings up to a time.
func (l *life) cycleAt(t time.Time) int {
	n := 0
	for _, o := range l.openings {
		if !sec(o.at).After(t) {
			n++
		}
	}
	return n
}

// storms counts the episodes that truly were.
func (l *life) storms(s Storm) (episodes int) {
	var autos []float64
	in := false
	for _, o := range l.openings {
		if !o.auto {
			if o.at > 0 && !l.compaction(o) {
				in = false
			}
			continue
		}
		autos = append(autos, o.at)
		n := 0
		for _, at := range autos {
			if at > o.at-s.Within.Seconds() {
				n++
			}
		}
		if n >= s.Count && !in {
			episodes++
		}
		in = n >= s.Count
	}
	return episodes
}

// compaction says that an opening was no clear; only those have such a neighbour.
func (l *life) compaction(o opened) bool { return l.manual(o.at) }

func (l *life) manual(at float64) bool {
	for _, d := range l.mail {
		if d.ev.Kind == EventCompacted && max(at-d.ev.At.Sub(epoch).Seconds(), d.ev.At.Sub(epoch).Seconds()-at) < 1 {
			return true
		}
	}
	return false
}

// simulate makes the lives of a fleet and all that arrives, in the order in which it
// does.
func simulate(seed uint64, agents int, hours float64, f faults) ([]*life, []delivery) {
	rng := rand.New(rand.NewPCG(seed, 24))
	var lives []*life
	var mail []delivery
	for i := range agents {
		l := &life{
			id: AgentID(fmt.Sprintf("agent-%02d", i)), rng: rand.New(rand.NewPCG(seed, uint64(i))), faults: f,
			transcript: i%5 != 4, now: 600 * rng.Float64(), key: transcript.Key(i * 100_000),
		}
		l.live(hours * 3600)
		lives = append(lives, l)
		mail = append(mail, l.mail...)
	}
	slices.SortStableFunc(mail, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })
	return lives, mail
}

// witness checks what an engine does, action by action.
type witness struct {
	t        *testing.T
	keys     map[Key]bool
	standing map[Key]time.Time // context notices that have not been withdrawn
	heard    map[string]int    // by agent, kind and true cycle
	storms   map[AgentID]int
	lives    map[AgentID]*life
}

func newWitness(t *testing.T, lives []*life) *witness {
	w := &witness{t, map[Key]bool{}, map[Key]time.Time{}, map[string]int{}, map[AgentID]int{}, map[AgentID]*life{}}
	for _, l := range lives {
		w.lives[l.id] = l
	}
	return w
}

func (w *witness) see(actions []Action) {
	for _, act := range actions {
		switch act := act.(type) {
		case Say:
			if w.keys[act.Key] {
				w.t.Errorf("%s is said twice", act.Key)
			}
			w.keys[act.Key] = true
			switch act.Key.Kind {
			case KindWarning, KindCritical, KindForecast:
				w.standing[act.Key] = act.At
				cycle := w.lives[act.Key.Agent].cycleAt(act.At)
				w.heard[fmt.Sprintf("%s %s %d", act.Key.Agent, act.Key.Kind, cycle)]++
			case KindStorm:
				if act.To.Role == Operator {
					w.storms[act.Key.Agent]++
				}
			}
		case Withdraw:
			for _, k := range act.Keys {
				delete(w.standing, k)
			}
		case Opened:
			w.opened(act, actions)
		}
	}
}

// opened checks that an opening leaves nothing of the cycle before.
func (w *witness) opened(o Opened, step []Action) {
	gone := map[Key]bool{}
	for _, act := range step {
		if wd, ok := act.(Withdraw); ok {
			for _, k := range wd.Keys {
				gone[k] = true
			}
		}
	}
	for k, at := range w.standing {
		if k.Agent == o.Agent && k.Cycle < o.Cycle && !gone[k] && !at.After(o.At) {
			w.t.Errorf("cycle %d of %s leaves %s standing", o.Cycle, o.Agent, k)
		}
	}
}

// run gives an engine all mail, with a tick every ten seconds.
func run(e *Engine, mail []delivery, see func([]Action)) {
	next := 0.0
	for _, d := range mail {
		for ; next <= d.at; next += 10 {
			actions, _ := e.Tick(sec(next))
			see(actions)
		}
		see(e.Step(d.ev))
	}
}

func timeOnly(o *Options) { o.Storm.Turns, o.ForecastTurns = 0, 2 }

func TestDayOfFiftyAgents(t *testing.T) {
	bad := faults{lost: 0.25, doubled: 0.15, late: 0.2, lateness: 60}
	for _, c := range []struct {
		name   string
		seed   uint64
		faults faults
	}{
		{"no faults", 1, faults{}},
		{"lost, doubled, late", 228, bad},
		{"another day", 229, bad},
		{"every other hook lost", 230, faults{lost: 0.5, late: 0.5, lateness: 20}},
		{"late by minutes", 231, faults{doubled: 0.5, late: 0.5, lateness: 600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lives, mail := simulate(c.seed, 50, 24, c.faults)
			e := newEngine(t, timeOnly)
			w := newWitness(t, lives)
			run(e, mail, w.see)
			w.judge(e, c.faults == faults{})
			t.Logf("%d events, %d notices %v, %+v", len(mail), len(w.keys), e.Counters().Notices, e.Counters())
		})
	}
}

// judge compares the end with the truth. Without faults nothing may be missing.
func (w *witness) judge(e *Engine, clean bool) {
	for key, n := range w.heard {
		if n > 1 {
			w.t.Errorf("said %d times: %s", n, key)
		}
	}
	for id, l := range w.lives {
		v, _ := e.Agent(id)
		truth := len(l.openings) + 1
		if v.Cycle > truth || (l.transcript || clean) && v.Cycle < truth {
			w.t.Errorf("%s (transcript: %v) is in cycle %d, in truth in %d", id, l.transcript, v.Cycle, truth)
		}
		if storms := l.storms(e.options.Storm); (l.transcript || clean) && w.storms[id] != storms || w.storms[id] > storms {
			w.t.Errorf("%s has heard of %d storms, in truth %d", id, w.storms[id], storms)
		}
		for k, at := range w.standing {
			if k.Agent == id && !at.After(v.Opened) {
				w.t.Errorf("%s stands in cycle %d", k, v.Cycle)
			}
		}
		if !clean {
			continue
		}
		for cycle, top := range l.top {
			for k, due := range map[Kind]bool{KindWarning: l.mild[cycle], KindCritical: top >= window*65/100} {
				if said := w.heard[fmt.Sprintf("%s %s %d", id, k, cycle)] == 1; said != due {
					w.t.Errorf("%s reached %d in cycle %d; %s is due: %v, said: %v", id, top, cycle, k, due, said)
				}
			}
		}
	}
	if silent := e.Counters().Notices[KindNoData]; clean && silent > 0 {
		w.t.Errorf("%d times no data, though nothing was lost", silent)
	}
}

// TestRestoreAtEachStep has a second engine that is made anew, from what would be
// stored, before each event: it must do the same.
func TestRestoreAtEachStep(t *testing.T) {
	_, mail := simulate(6, 5, 3, faults{lost: 0.2, doubled: 0.2, late: 0.3, lateness: 60})
	e := newEngine(t, timeOnly)
	stored := map[AgentID]AgentState{}
	for i, d := range mail {
		taken := e.Take()
		for _, a := range taken.Agents {
			stored[a.Agent] = a
		}
		taken.Agents = nil
		for _, a := range stored {
			taken.Agents = append(taken.Agents, a)
		}
		b, err := json.Marshal(taken)
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		again := newEngine(t, timeOnly)
		again.Restore(back)
		for _, x := range []*Engine{e, again} {
			x.Tick(sec(d.at))
		}
		if diff := gocmp.Diff(e.Step(d.ev), again.Step(d.ev)); diff != "" {
			t.Fatalf("event %d, %+v (-kept +restored):\n%s", i, d.ev, diff)
		}
		if i%200 == 0 {
			if diff := gocmp.Diff(e.Snapshot(), again.Snapshot()); diff != "" {
				t.Fatalf("event %d (-kept +restored):\n%s", i, diff)
			}
		}
	}
}
