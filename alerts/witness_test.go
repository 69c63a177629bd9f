package alerts

import (
	"fmt"
	"testing"
	"time"
)

// witness checks the actions of an engine.
type witness struct {
	t        *testing.T
	keys     map[Key]bool
	open     map[Key]time.Time // context notices that have not been withdrawn
	received map[string]int    // by agent, kind and true cycle
	lives    map[string]*life
}

func newWitness(t *testing.T, lives []*life) *witness {
	w := &witness{
		t,
		map[Key]bool{},
		map[Key]time.Time{},
		map[string]int{},
		map[string]*life{},
	}
	for _, l := range lives {
		w.lives[l.id] = l
	}
	return w
}

func (w *witness) see(actions []Action) {
	for _, act := range actions {
		switch act := act.(type) {
		case Deliver:
			if w.keys[act.Key] {
				w.t.Errorf("%s is repeated", act.Key)
			}
			w.keys[act.Key] = true
			switch act.Key.Kind {
			case KindWarning, KindCritical, KindForecast:
				w.open[act.Key] = act.At
				cycle := w.lives[act.Key.Agent].cycleAt(act.At)
				w.received[fmt.Sprintf("%s %s %d", act.Key.Agent, act.Key.Kind, cycle)]++
			}
		case Withdraw:
			for _, k := range act.Keys {
				delete(w.open, k)
			}
		case Opened:
			w.opened(act, actions)
		}
	}
}

// opened checks that a new cycle leaves no notice of the previous one open.
func (w *witness) opened(o Opened, step []Action) {
	gone := map[Key]bool{}
	for _, act := range step {
		if wd, ok := act.(Withdraw); ok {
			for _, k := range wd.Keys {
				gone[k] = true
			}
		}
	}
	for k, at := range w.open {
		if k.Agent == o.Agent && k.Cycle < o.Cycle && !gone[k] && !at.After(o.At) {
			w.t.Errorf("cycle %d of %s leaves %s open", o.Cycle, o.Agent, k)
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

func timeOnly(o *Options) {
	o.Storm.Turns = 0
	o.ForecastTurns = 2
}

func TestDayOfFiftyAgents(t *testing.T) {
	bad := faults{
		lost:     0.25,
		doubled:  0.15,
		late:     0.2,
		lateness: 60,
	}
	for _, c := range []struct {
		name   string
		seed   uint64
		faults faults
	}{
		{"no faults", 1, faults{}},
		{"lost, doubled, late", 2, bad},
		{"late by minutes", 5, faults{doubled: 0.5, late: 0.5, lateness: 600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lives, mail := simulate(c.seed, 50, 24, c.faults)
			e := newEngine(t, timeOnly)
			w := newWitness(t, lives)
			run(e, mail, w.see)
			w.judge(e, c.faults == faults{})
			t.Logf(
				"%d events, %d notices %v, %+v",
				len(mail),
				len(w.keys),
				e.Counters().Notices,
				e.Counters(),
			)
		})
	}
}

// judge compares the end with the truth. Without faults nothing may be missing.
func (w *witness) judge(e *Engine, clean bool) {
	for key, n := range w.received {
		if n > 1 {
			w.t.Errorf("sent %d times: %s", n, key)
		}
	}
	for id, l := range w.lives {
		v := e.Agent(id)
		truth := len(l.openings) + 1
		if v.Cycle > truth || (l.transcript || clean) && v.Cycle < truth {
			w.t.Errorf(
				"%s (transcript: %v) is in cycle %d, in truth in %d",
				id,
				l.transcript,
				v.Cycle,
				truth,
			)
		}
		for k, at := range w.open {
			if k.Agent == id && at.Before(v.Opened) {
				w.t.Errorf("%s is open in cycle %d", k, v.Cycle)
			}
		}
		if !clean {
			continue
		}
		for cycle, top := range l.top {
			for k, due := range map[Kind]bool{
				KindWarning:  l.mild[cycle],
				KindCritical: top >= window*645/1000,
			} {
				if sent := w.received[fmt.Sprintf("%s %s %d", id, k, cycle)] == 1; sent != due {
					w.t.Errorf(
						"%s reached %d in cycle %d; %s is due: %v, sent: %v",
						id,
						top,
						cycle,
						k,
						due,
						sent,
					)
				}
			}
		}
	}
	if silent := e.Counters().Notices[KindNoData]; clean && silent > 0 {
		w.t.Errorf("got %d no-data notices, want none without faults", silent)
	}
}
