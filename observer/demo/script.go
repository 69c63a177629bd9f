// Package demo makes up agents for sm observe --demo: their transcripts, hooks and
// status lines. What they do is a script that is the same each time, acted out from
// long before the start, so that there is something to see at once.
package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sm/transcript"
)

// seed decides what happens: the same each time. With this one an agent compacts soon after
// the demo begins, and another hands over.
const seed = 9

// What happens in a demo.
type kind string

const (
	kindPrompt     kind = "prompt"
	kindReply      kind = "reply"  // the model answers: the last of a turn, or one that calls a tool
	kindResult     kind = "result" // of the tool
	kindEnd        kind = "end"    // of a turn
	kindCompacting kind = "compacting"
	kindCompacted  kind = "compacted"
	kindClear      kind = "clear"    // the agent goes on in another session
	kindSubagent   kind = "subagent" // a reply of a subagent
	kindAsk        kind = "ask"      // the client asks a person whether it may use the tool
	kindHandoff    kind = "handoff"  // the agent asks for a handoff
	kindRestart    kind = "restart"  // its client begins another session for that
	kindAnswer     kind = "answer"   // the answer to a hook
)

// event is one thing that one made-up agent does.
type event struct {
	At    time.Time
	Kind  kind
	Agent int
	// Session is the client's id of the session, Before the id of the session
	// that a clear or a restart leaves.
	Session, Before string
	// Context is the size of the context in tokens: of a reply with it, of a
	// compaction before it. Fresh tokens of it are not in the cache yet.
	Context, Fresh, Output int64
	Text                   string        // of a prompt, or the answer to a hook
	Trigger                string        // of a compaction: auto, manual; else why a session is left
	Tool, Subagent         string        // ids
	First                  bool          // of its session or subagent
	Last                   bool          // the reply ends its turn
	Took                   time.Duration // of a compaction or a turn
}

// Usage is what a reply used.
func (e event) Usage() transcript.Usage {
	return transcript.Usage{
		Input:         8,
		CacheCreation: e.Fresh,
		CacheRead:     e.Context - e.Fresh - 8,
		Output:        e.Output,
	}
}

// Resets is when a rate limit of so many hours ends, in seconds since 1970.
func (e event) Resets(hours int64) int64 {
	return (e.At.Unix()/3600/hours + 1) * hours * 3600
}

//go:embed demo.json
var demoJSON []byte

// Cast are the agents of a demo. The first is the parent of all others.
type Cast struct {
	// Prices are the public prices of their models, Projects what they work on.
	Prices   transcript.Prices
	Projects []string
	Agents   []temper
}

// Load returns the cast.
func Load() (c Cast) {
	_ = json.Unmarshal(demoJSON, &c) // which is a part of this program
	return c
}

// temper is how an agent works. Token counts are ranges [from, to].
type temper struct {
	ID, Project, Client, Model, Task string
	// Begins is how many seconds before the demo it began.
	Begins int
	// After is the context that a compaction or a clear leaves, Grow what a reply adds.
	After, Grow [2]int64
	Replies     [2]int64 // of a turn
	Rest        int      // in seconds
	// Manual is the context at which the agent compacts by itself, Hands that at which it
	// hands over, 0 for never.
	Manual, Hands int64
	Clears        int  // after how many turns the agent clears, 0 for never
	Subagents     bool // every other tool is one
	Asks          int  // how many seconds the dialog before each tool waits for a person, 0 for no dialogs
}

// sizes are the size of a model's context window, and that at which its client compacts.
func sizes(model string) (window, compacts int64) {
	switch {
	case strings.HasPrefix(model, "gpt"):
		return 258_400, 244_800
	case model == "claude-opus-4-8", model == "claude-sonnet-5":
		return 1_000_000, 967_000
	}
	return 200_000, 167_000
}

// pace is about how long a reply takes, or a tool.
const pace = 8 * time.Second

// script is all that happens in a demo, in order, and the same for the same seed and start.
type script []*agent

// newScript makes the script of a demo that is seen from a time on.
func newScript(seen time.Time) (f script) {
	for i, temper := range Load().Agents {
		s := &agent{temper: temper, index: i, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		s.session = newUUID(s.rng)
		s.context = s.between(s.After)
		s.began = seen.Add(-seconds(s.Begins))
		s.now = s.began
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
	began   time.Time
	session string
	context int64
	cached  int64 // of the context
	turns   int   // of the session
	now     time.Time
	pending []event

	// Bill is what its client has spent in this session, in US dollars; resume is the
	// prompt with which a handoff goes on.
	Bill   float64
	resume string
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
	began := s.now
	_, compacts := sizes(s.Model)
	hands := false
	s.add(event{Kind: kindPrompt, Text: s.Task, Tool: newUUID(s.rng), First: s.turns == 0})
	for n := s.between(s.Replies); n > 0; n-- {
		s.pass(pace)
		if s.context >= compacts {
			s.compact("auto")
		}
		s.context += s.between(s.Grow)
		tool := newUUID(s.rng)
		output := s.between([2]int64{80, 900})
		s.add(event{
			Kind:    kindReply,
			Context: s.context,
			Fresh:   s.context - s.cached - 8,
			Output:  output,
			Tool:    tool,
			Last:    n == 1,
		})
		s.cached = s.context
		if n == 1 {
			break
		}
		s.pass(pace)
		if s.Subagents && s.rng.IntN(2) == 0 {
			context := s.between([2]int64{9e3, 60e3})
			s.add(event{
				Kind:     kindSubagent,
				Context:  context,
				Fresh:    context / 2,
				Output:   output,
				Subagent: tool,
				First:    true,
			})
			s.pass(pace)
		}
		if s.Asks > 0 {
			s.add(event{Kind: kindAsk})
			s.pass(seconds(s.Asks))
		}
		if hands = n == 2 && s.Hands > 0 && s.context >= s.Hands; hands {
			s.add(event{Kind: kindHandoff})
		}
		s.add(event{Kind: kindResult, Tool: tool})
	}
	s.now = s.now.Add(50 * time.Millisecond)
	s.add(event{Kind: kindEnd, Took: s.now.Sub(began)})
	s.turns++
	s.pass(seconds(s.Rest) / 2)
	switch {
	case hands:
		s.now = s.now.Add(handsWithin)
		s.leave(kindRestart)
	case s.Clears > 0 && s.turns == s.Clears:
		s.leave(kindClear)
	case s.Manual > 0 && s.context >= s.Manual:
		s.compact("manual")
	}
	s.pass(seconds(s.Rest) / 2)
}

// handsWithin is the time that the observer has to begin a handoff: it waits until an agent
// is idle.
const handsWithin = 12 * time.Second

// leave goes on in another session.
func (s *agent) leave(how kind) {
	before := s.session
	s.session = newUUID(s.rng)
	s.context = s.between(s.After)
	s.cached = 0
	s.turns = 0
	s.add(event{Kind: how, Before: before, Trigger: string(how)})
}

func (s *agent) compact(trigger string) {
	e := event{Kind: kindCompacting, Context: s.context, Trigger: trigger}
	s.add(e)
	began := s.now
	s.pass(20 * time.Second)
	e.Kind = kindCompacted
	e.Took = s.now.Sub(began)
	s.add(e)
	s.context = s.between(s.After)
	s.cached = 0
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
