package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

// A crowd is about twenty agents whose clients run /clear, end and are started again, with
// all reports, each some time after its event.
type crowd struct {
	*rand.Rand
	wild    bool // reports may be late by many sessions; otherwise they arrive before the next one ends
	agents  []*agentTruth
	reports []report
	pid, n  int         // used so far
	entries []entryTime // the registry, by time
}

// agentTruth is the final state of one agent.
type agentTruth struct {
	id       string // "" for one without a name: any of its sessions is its id
	host     string // of a nested one
	sessions []int
}

// report is a step and the time of its arrival.
type report struct {
	arrives float64
	do      step
}

// entryTime is one entry of the registry: from at on a process is in a session, 0 when it has
// ended.
type entryTime struct {
	at           float64
	pid, session int
}

const (
	lateMost = 20.0 // maximum delay of a report
	shortest = 60.0 // minimum duration of a session
)

func newCrowd(seed uint64, wild bool) *crowd {
	w := &crowd{Rand: rand.New(rand.NewPCG(seed, 3)), wild: wild}
	for i := range 20 {
		switch {
		case i < 8:
			w.agent(fmt.Sprintf("em%d", i), 100*w.Float64(), "", nil)
		case i < 12:
			pane := fmt.Sprintf("%%%d", i)
			w.agent(
				inPane(pane, 50, 2).Agent,
				100*w.Float64(),
				"",
				func(pid int) hook.Origin { return inPane(pane, 50, pid) },
			)
		case i < 16:
			w.agent(
				"",
				100*w.Float64(),
				"",
				func(pid int) hook.Origin { return from("", pid) },
			)
		default: // started by em0 to em3, after these have spoken
			host := fmt.Sprintf("em%d", i-16)
			w.agent("", 150, host, func(pid int) hook.Origin { return from(host, pid) })
		}
	}
	w.registry()
	slices.SortStableFunc(w.reports, func(a, b report) int {
		if a.arrives < b.arrives {
			return -1
		}
		return btoi(a.arrives > b.arrives)
	})
	return w
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// report delays a step, and sometimes repeats it.
func (w *crowd) report(at float64, do step) {
	for range 1 + btoi(w.IntN(5) == 0) {
		late := lateMost * w.Float64()
		if w.wild && w.IntN(3) == 0 {
			late *= 20
		}
		w.reports = append(w.reports, report{at + late, do})
	}
}

// agent makes one agent with its clients and their sessions.
func (w *crowd) agent(id string, at float64, host string, origin func(pid int) hook.Origin) {
	a := &agentTruth{id: id, host: host}
	w.agents = append(w.agents, a)
	if origin == nil {
		origin = func(pid int) hook.Origin { return from(id, pid) }
	}
	w.pid++
	pid := 1000 + w.pid
	source := "startup"
	hosting := len(w.agents) <= 4
	for range 1 + w.IntN(5) {
		w.n++
		a.sessions = append(a.sessions, w.n)
		if source == "startup" { // the first report of a client is not delayed
			w.reports = append(w.reports, report{at, starts(at, w.n, source, origin(pid))})
		}
		length := shortest + 60*w.Float64()
		if len(a.sessions) == 1 && hosting {
			length += 150
		}
		w.session(w.n, at, at+length, source, origin(pid))
		w.entries = append(w.entries, entryTime{at, pid, w.n})
		at += length + 0.1
		source = "clear"
		if id != "" && !hosting && w.IntN(3) == 0 { // a named client is started again
			w.entries = append(w.entries, entryTime{at, pid, 0})
			w.reports = append(w.reports, report{at, ends(pid)})
			w.pid++
			pid = 1000 + w.pid
			source = "startup"
		}
	}
}

// session plays all reports of a session.
func (w *crowd) session(n int, begin, end float64, source string, o hook.Origin) {
	w.report(begin, starts(begin, n, source, o))
	some := func() float64 { return begin + (end-begin)*w.Float64() }
	for range w.IntN(4) {
		at := some()
		w.report(at, fires(at, n, []hook.Event{prompted, used, stopped}[w.IntN(3)], o))
		at = some()
		w.report(at, shows(at, n, int64(20_000+w.IntN(50_000)), o))
		at = some()
		w.report(at, hooked(at, n, hook.Payload{Event: used, AgentID: "a1"}, o))
	}
	w.report(end, fires(end, n, left, o))
	w.report(end+1.5, fires(end+1.5, n, stopped, o)) // after the first report of the next session
	at := begin
	for range w.IntN(4) {
		at += 10 * w.Float64()
		w.reports = append(w.reports, report{at, answers(at, n, 20_000)})
	}
}

// registry reads the registry from time to time, in order.
func (w *crowd) registry() {
	slices.SortStableFunc(
		w.entries,
		func(a, b entryTime) int { return btoi(a.at > b.at) - btoi(a.at < b.at) },
	)
	now := map[int]int{}
	updated := map[int]float64{}
	arrives := 0.0
	for _, e := range w.entries {
		if now[e.pid], updated[e.pid] = e.session, e.at; e.session == 0 {
			delete(now, e.pid)
		}
		if w.IntN(4) == 0 {
			continue // not seen before the next change
		}
		var cs []Client
		for pid, n := range now {
			cs = append(cs, Client{
				PID:       pid,
				ProcStart: fmt.Sprint(100 * pid),
				SessionID: uuid(n),
				Updated:   second(updated[pid]),
			})
		}
		arrives = max(arrives, e.at+2*w.Float64())
		w.reports = append(
			w.reports,
			report{arrives, func(s *scenario) { s.news.add(s.f.Clients(cs)) }},
		)
	}
}

// TestIdentityRandom tests for any delay and repetition that in the end each session belongs
// to its agent, that each agent is in its last session, and that none has returned to an
// earlier one. If nothing is later than the next /clear, each change is reported once.
func TestIdentityRandom(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		for _, wild := range []bool{false, true} {
			w := newCrowd(seed, wild)
			s := newScenario(t)
			again := w.IntN(len(w.reports))
			been := map[string]int{}
			for i, x := range w.reports {
				if i == again {
					s.play(restarts)
				}
				s.play(x.do)
				w.checkForward(t, s, been)
			}
			w.checkEnd(t, s)
			w.checkResets(t, s)
			if t.Failed() {
				t.Fatalf("seed %d, wild %v", seed, wild)
			}
		}
	}
}

// checkForward checks that a named agent is in one of its sessions, and never returns to an
// earlier one.
func (w *crowd) checkForward(t *testing.T, s *scenario, been map[string]int) {
	for _, a := range w.agents {
		now := s.f.agents[a.id]
		if a.id == "" || now == nil || now.Session == "" {
			continue
		}
		n := number(now.Session)
		if !slices.Contains(a.sessions, n) || n < been[a.id] {
			t.Fatalf("%s of sessions %v goes from %d to %d", a.id, a.sessions, been[a.id], n)
		}
		been[a.id] = n
	}
}

func (w *crowd) checkEnd(t *testing.T, s *scenario) {
	owner := map[string]int{}
	for i, a := range w.agents {
		id := a.id
		if id == "" {
			id = s.f.recordOf(uuid(a.sessions[len(a.sessions)-1])).Agent
		}
		if j, taken := owner[id]; taken {
			t.Errorf("agents %d and %d are one: %s", i, j, nameOf(id))
		}
		owner[id] = i
		now := s.f.agents[id]
		if now == nil || number(now.Session) != a.sessions[len(a.sessions)-1] ||
			now.Host != a.host ||
			now.Parent != a.host {
			t.Errorf("%s of %v: %+v", nameOf(id), a, now)
		}
		for _, n := range a.sessions {
			if rec := s.f.recordOf(uuid(n)); rec == nil || rec.Agent != id {
				t.Errorf("session %d of %s: %+v", n, nameOf(id), rec)
			}
		}
	}
	if n := len(s.f.agents); n != len(w.agents) {
		t.Errorf("%d agents, want %d: %v", n, len(w.agents), s.present())
	}
}

// checkResets checks that the sessions of an agent are reported once each, in order. An agent
// known only by its transcript and the registry, as with late reports, is another one until
// its hooks arrive.
func (w *crowd) checkResets(t *testing.T, s *scenario) {
	reports := map[int]int{}
	last := map[string]int{}
	for _, ev := range s.news.Events {
		if ev.Kind != alerts.EventReset {
			continue
		}
		n := keyed(ev.Key)
		if reports[n]++; n <= last[ev.Agent] {
			t.Errorf(
				"%s goes from session %d to %d",
				nameOf(ev.Agent),
				last[ev.Agent],
				n,
			)
		}
		last[ev.Agent] = n
	}
	for _, a := range w.agents {
		for i, n := range a.sessions {
			if reports[n] != btoi(i > 0) && !w.wild {
				t.Errorf(
					"start of session %d, number %d of %q: got %d reports",
					n,
					i,
					a.id,
					reports[n],
				)
			}
		}
	}
}
