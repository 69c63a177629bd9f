package rotation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a client with its terminal, and an observer that is killed at any moment. snapshot
// is the observer's stored state; effects start once their batch is stored.
type world struct {
	t   *testing.T
	rng *rand.Rand
	m   *Machine
	now time.Time

	rotations map[string]Rotation // stored
	agents    map[string]AgentRecord
	counters  Counters

	session  int    // number of the client's context
	box      string // a text that was pasted without Enter
	draft    bool   // a person's draft, which prevents typing
	busy     bool
	hooks    bool // the client's hooks arrive
	inputs   []Input
	quiet    bool           // no more kills
	clears   map[string]int // typed
	prompted map[string]bool
	reported map[string]bool
}

func (w *world) id() string { return fmt.Sprintf("s%d", w.session) }

// store is one transaction, followed by its effects or not: a kill may come before, between
// and after them.
func (w *world) store(effects []Effect) {
	rotations := maps.Clone(w.rotations)
	agents := maps.Clone(w.agents)
	changed := false
	ok := w.m.Take(func(id string, r *Rotation) {
		changed = true
		if r == nil {
			delete(rotations, id)
		} else {
			rotations[id] = *r
		}
	}, func(agent string, s *AgentRecord) {
		changed = true
		agents[agent] = *s
	})
	if ok != (changed || !maps.Equal(w.m.Counters(), w.counters)) {
		w.t.Errorf("%t for %t", ok, changed)
	}
	if w.dies() {
		w.kill()
		return
	}
	w.rotations = rotations
	w.agents = agents
	w.counters = w.m.Counters()
	for _, e := range effects {
		if r, ok := e.(Report); ok {
			w.reported[r.Rotation.ID] = true // a message in the queue of the same transaction
		}
	}
	for _, e := range effects {
		if w.dies() {
			w.kill()
			return
		}
		w.effect(e)
	}
}

func (w *world) dies() bool { return !w.quiet && w.rng.IntN(12) == 0 }

func (w *world) kill() {
	w.inputs = nil
	var rotations []Rotation
	for _, r := range w.rotations {
		rotations = append(rotations, r)
	}
	var agents []AgentRecord
	for _, s := range w.agents {
		agents = append(agents, s)
	}
	w.m.Restore(rotations, agents, w.counters, w.now)
}

func (w *world) effect(e Effect) {
	switch x := e.(type) {
	case Prepare:
		p := Prepared{
			ID:       x.Rotation.ID,
			Document: "HO",
			Read:     "/doc.md",
			At:       w.now,
		}
		if w.rng.IntN(10) == 0 {
			p.Reason = ReasonFileGone
		}
		w.inputs = append(w.inputs, p)
	case Type:
		w.types(x.Rotation, x.Text, Typed{
			ID:     x.Rotation.ID,
			Prompt: x.Prompt,
			Finish: x.Finish,
			At:     w.now,
		})
	}
}

// types is the terminal: it refuses, or the client gets the text. A kill between paste and
// Enter leaves it in the box.
func (w *world) types(r Rotation, text string, answer Typed) {
	left := w.box == text && (answer.Finish || answer.Prompt)
	if w.busy || w.draft || !left && (w.box != "" || answer.Finish) {
		answer.Reason = "draft"
		w.inputs = append(w.inputs, answer)
		return
	}
	w.box = text
	if w.dies() {
		w.kill()
		return
	}
	w.box = ""
	answer.Pressed = true
	w.inputs = append(w.inputs, answer)
	if answer.Prompt {
		w.prompted[r.ID] = true
		w.inputs = append(w.inputs, Prompted{Agent: "a", Text: text, At: w.now})
		return
	}
	w.clears[r.ID]++
	w.session++
	if w.hooks {
		w.inputs = append(w.inputs, Started{Agent: "a", Session: w.id(), At: w.now})
	}
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(5000)) * time.Millisecond)
	switch w.rng.IntN(10) {
	case 0:
		w.busy = !w.busy
	case 1:
		w.draft = w.rng.IntN(3) == 0
	case 2:
		w.kill()
	case 3:
		w.store(w.m.Tick(w.now))
	default:
		if !w.busy {
			w.store(w.m.Step(Idle{
				Agent:   "a",
				Way:     WayClear,
				Session: w.id(),
				At:      w.now,
			}))
		}
	}
	for len(w.inputs) > 0 && w.rng.IntN(4) > 0 {
		in := w.inputs[0]
		w.inputs = w.inputs[1:]
		w.store(w.m.Step(in))
	}
	for id, n := range w.clears {
		if n > 1 {
			w.t.Fatalf("%s: /clear was typed %d times", id, n)
		}
	}
}

// TestRotationKills kills the observer at any moment, thousands of times. There are never two
// /clear for one handoff, and never one without a typed prompt or a report; no scheduled
// handoff is lost.
func TestRotationKills(t *testing.T) {
	seen := map[State]int{}
	left := 0
	o := Defaults()
	o.BreakerCount = 0
	for seed := range uint64(400) {
		w := &world{
			t:         t,
			rng:       rand.New(rand.NewPCG(seed, 5)),
			m:         New(o),
			now:       at(0),
			hooks:     seed%8 != 0,
			rotations: map[string]Rotation{},
			agents:    map[string]AgentRecord{},
			clears:    map[string]int{},
			prompted:  map[string]bool{},
			reported:  map[string]bool{},
		}
		scheduled := map[string]bool{}
		for i := range 4 {
			id := fmt.Sprint(i)
			w.busy = false
			w.draft = false
			if _, _, err := w.m.Schedule(Rotation{
				ID:      id,
				Agent:   "a",
				Path:    "/doc.md",
				Session: w.id(),
			}, w.now); err != nil {
				t.Fatal(err)
			}
			before := len(w.rotations)
			w.store(nil)
			if len(w.rotations) > before {
				scheduled[id] = true // it was acknowledged
			}
			for range 60 {
				w.step()
			}
			w.settle()
		}
		if w.box != "" { // only if a draft was in the box for as long as the proof may take
			left++
			if all := w.m.All(); !slices.ContainsFunc(
				all,
				func(r Rotation) bool {
					return r.State == Failed &&
						r.Reason != ReasonFileGone
				},
			) {
				t.Fatalf("seed %d: %q is left in the box after %+v", seed, w.box, all)
			}
		}
		for id := range scheduled {
			r := w.m.Find(id)
			if !r.State.Ended() {
				t.Fatalf("seed %d: %s is missing, or stays in %v", seed, id, r.State)
			}
			if w.clears[id] > 0 && !w.prompted[id] && !w.reported[id] {
				t.Fatalf(
					"seed %d: %s: cleared, and neither prompted nor reported: %+v",
					seed,
					id,
					r,
				)
			}
			if r.State == Confirmed && (w.clears[id] != 1 || !w.prompted[id]) {
				t.Fatalf("seed %d: %s: confirmed after %d clears", seed, id, w.clears[id])
			}
			seen[r.State]++
		}
	}
	t.Logf("%v, in %d of 400 lives a text is left in the box", seen, left)
	if seen[Confirmed] < 500 || seen[Failed] < 50 {
		t.Errorf("too few of a kind: %v", seen)
	}
}

// settle runs the machine to its end without more kills.
func (w *world) settle() {
	w.busy = false
	w.draft = false
	w.quiet = true
	defer func() { w.quiet = false }()
	for range 2000 {
		if w.m.Open("a").ID == "" {
			return
		}
		w.now = w.now.Add(time.Second)
		w.store(w.m.Step(Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: w.id(),
			At:      w.now,
		}))
		for len(w.inputs) > 0 {
			in := w.inputs[0]
			w.inputs = w.inputs[1:]
			w.store(w.m.Step(in))
		}
		w.store(w.m.Tick(w.now))
	}
}
