// Package demo makes up agents for sm observe --demo: their transcripts, hooks and
// status lines. What they do is a script that is the same each time, acted out from
// minutes before the start, so that there is something to see at once.
package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// Seed decides what happens: the same each time. With this one an agent
	// compacts soon after the demo begins.
	Seed = 9
	// Past is how much has happened when a demo begins.
	Past = 15 * time.Minute
)

// What happens in a demo.
type kind uint8

const (
	kindPrompt     kind = iota
	kindReply           // the model answers: the last of a turn, or one that calls a tool
	kindToolResult      // of the tool
	kindTurnEnd
	kindCompacting // the client begins to compact
	kindCompacted
	kindClear    // the agent goes on in another session
	kindSubagent // a reply of a subagent
	kindAsk      // the client asks a person whether it may use the tool
)

// event is one thing that one made-up agent does.
type event struct {
	At    time.Time
	Kind  kind
	Agent int
	// Session is the client's id of the session, Before the id of the session
	// that a clear leaves.
	Session, Before string
	// Context is the size of the context in tokens: of a reply with it, of a
	// compaction before it.
	Context, Output int64
	Trigger         string        // of a compaction: auto, manual
	Took            time.Duration // of a compaction
	Last            bool          // the reply ends its turn
}

// The first agent is the parent of all others.
//
//go:embed agents.json
var agentsJSON []byte

// temper is how an agent works. Token counts are ranges [from, to].
type temper struct {
	Name, Model string
	// After is the context that a compaction or a clear leaves, Grow what a reply adds.
	After, Grow [2]int64
	Replies     [2]int64 // of a turn
	Rest        int      // in seconds
	Manual      int64    // the context at which the agent compacts by itself, 0 for never
	Clears      int      // after how many turns the agent clears, 0 for never
	Subagents   bool     // every other tool is one
	Asks        int      // how many seconds the dialog before each tool waits for a person, 0 for no dialogs
}

// window is the size of a model's context window.
func window(model string) int64 {
	if model == "claude-opus-4-8" {
		return 1_000_000
	}
	return 200_000
}

// pace is about how long a reply takes, or a tool.
const pace = 2 * time.Second

// script is all that happens in a demo, in order, and the same for the same seed and start.
type script []*agent

// newScript makes the script that begins at a time.
func newScript(seed uint64, start time.Time) (f script) {
	var tempers []temper
	_ = json.Unmarshal(agentsJSON, &tempers) // which is a part of this program
	for i, temper := range tempers {
		s := &agent{temper: temper, index: i, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		s.scribe = &scribe{model: s.Model, rng: rand.New(rand.NewPCG(seed, uint64(i)|1<<32))}
		s.session = newUUID(s.rng)
		s.context = s.between(s.After)
		s.now = start.Add(time.Duration(s.rng.Int64N(int64(5 * time.Second))))
		f = append(f, s)
	}
	return f
}

// next is what happens next.
func (f script) next() event {
	s := f.soonest()
	e := s.pending[0]
	s.pending = s.pending[1:]
	return e
}

// peek is when that is.
func (f script) peek() time.Time { return f.soonest().pending[0].At }

func (f script) soonest() (first *agent) {
	for _, s := range f {
		if len(s.pending) == 0 {
			s.turn()
		}
		if first == nil || s.pending[0].At.Before(first.pending[0].At) {
			first = s
		}
	}
	return first
}

// agent is one agent at work: what it will do until the end of its turn is pending.
type agent struct {
	temper
	index   int
	rng     *rand.Rand
	scribe  *scribe
	session string
	context int64
	turns   int
	now     time.Time
	pending []event
}

func (s *agent) between(r [2]int64) int64 { return r[0] + s.rng.Int64N(r[1]-r[0]+1) }

// pass lets about so much time go by.
func (s *agent) pass(d time.Duration) {
	s.now = s.now.Add(d/2 + time.Duration(s.rng.Int64N(int64(d))))
}

func (s *agent) add(e event) {
	e.At = s.now
	e.Agent = s.index
	e.Session = s.session
	s.pending = append(s.pending, e)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// turn adds a turn, and what comes between it and the next one.
func (s *agent) turn() {
	s.add(event{Kind: kindPrompt})
	for n := s.between(s.Replies); n > 0; n-- {
		s.pass(pace)
		if s.context >= window(s.Model)-33_000 { // where clients of 2.1.25 and later compact
			s.compact("auto")
		}
		s.context += s.between(s.Grow)
		output := s.between([2]int64{80, 900})
		s.add(event{
			Kind:    kindReply,
			Context: s.context,
			Output:  output,
			Last:    n == 1,
		})
		if n == 1 {
			break
		}
		s.pass(pace)
		if s.Subagents && s.rng.IntN(2) == 0 {
			s.add(event{
				Kind:    kindSubagent,
				Context: s.between([2]int64{9e3, 60e3}),
				Output:  output,
			})
			s.pass(pace)
		}
		if s.Asks > 0 {
			s.add(event{Kind: kindAsk})
			s.pass(seconds(s.Asks))
		}
		s.add(event{Kind: kindToolResult})
	}
	s.now = s.now.Add(50 * time.Millisecond)
	s.add(event{Kind: kindTurnEnd})
	s.turns++
	s.pass(seconds(s.Rest) / 2)
	switch {
	case s.Clears > 0 && s.turns%s.Clears == 0:
		before := s.session
		s.session = newUUID(s.rng)
		s.context = s.between(s.After)
		s.add(event{Kind: kindClear, Before: before})
	case s.Manual > 0 && s.context >= s.Manual:
		s.compact("manual")
	}
	s.pass(seconds(s.Rest) / 2)
}

func (s *agent) compact(trigger string) {
	e := event{Kind: kindCompacting, Context: s.context, Trigger: trigger}
	s.add(e)
	began := s.now
	s.pass(5 * time.Second)
	e.Kind = kindCompacted
	e.Took = s.now.Sub(began)
	s.add(e)
	s.context = s.between(s.After)
	s.pass(pace)
}

// newUUID is a random UUID.
func newUUID(rng *rand.Rand) string {
	a := rng.Uint64()
	b := rng.Uint64()
	return fmt.Sprintf(
		"%08x-%04x-4%03x-%04x-%012x",
		a>>32,
		a>>16&0xffff,
		a&0xfff,
		b>>48&0x3fff|0x8000,
		b&0xffffffffffff,
	)
}
