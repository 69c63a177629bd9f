// Package demo simulates agents for sm observe --demo: their transcripts, hooks
// and status lines. Their script is the same each time and begins long before
// the start, so that the page has a history at once.
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

// seed makes the script the same each time. With this seed an agent compacts
// soon after the demo begins, and another hands over.
const seed = 9

// The kinds of events in a demo.
type kind string

const (
	kindPrompt     kind = "prompt"
	kindReply      kind = "reply"  // the model answers: the last of a turn, or one that calls a tool
	kindResult     kind = "result" // of the tool
	kindEnd        kind = "end"    // of a turn
	kindCompacting kind = "compacting"
	kindCompacted  kind = "compacted"
	kindClear      kind = "clear"    // the agent continues in another session
	kindSubagent   kind = "subagent" // a reply of a subagent
	kindAsk        kind = "ask"      // the client asks a person whether it may use the tool
	kindHandoff    kind = "handoff"  // the agent requests a handoff
	kindRestart    kind = "restart"  // its client begins another session for the handoff
	kindAnswer     kind = "answer"   // the answer to a hook
)

// event is one event of a simulated agent.
type event struct {
	At    time.Time
	Kind  kind
	Agent int
	// Session is the client's id of the session. Before is the id of the
	// session that a clear or a restart leaves.
	Session, Before string
	// Context is the size of the context in tokens: of a reply including the
	// reply, of a compaction before it. Fresh is the part of it that is not in
	// the cache yet.
	Context, Fresh, Output int64
	Text                   string        // of a prompt, or the answer to a hook
	Trigger                string        // of a compaction: auto, manual; else why a session is left
	Tool, Subagent         string        // ids
	First                  bool          // of its session or subagent
	Last                   bool          // the reply ends its turn
	Took                   time.Duration // of a compaction or a turn
}

// Usage returns the usage of a reply.
func (e event) Usage() transcript.Usage {
	return transcript.Usage{
		Input:         8,
		CacheCreation: e.Fresh,
		CacheRead:     e.Context - e.Fresh - 8,
		Output:        e.Output,
	}
}

// Resets returns when a rate limit of that many hours ends, in seconds since
// 1970.
func (e event) Resets(hours int64) int64 {
	return (e.At.Unix()/3600/hours + 1) * hours * 3600
}

//go:embed demo.json
var demoJSON []byte

// Cast are the agents of a demo. The first is the parent of all others.
type Cast struct {
	// Prices are the public prices of the models, Projects the names of the
	// projects.
	Prices   transcript.Prices
	Projects []string
	Agents   []temper
}

// Load returns the cast.
func Load() (c Cast) {
	_ = json.Unmarshal(demoJSON, &c) // demoJSON is valid
	return c
}

// temper is how an agent works. Token counts are ranges [from, to].
type temper struct {
	ID, Project, Client, Model, Task string
	// Begins is how many seconds before the demo it began.
	Begins int
	// After is the context after a compaction or a clear, Grow the growth with
	// a reply.
	After, Grow [2]int64
	Replies     [2]int64 // of a turn
	Rest        int      // in seconds
	// Manual is the context at which the agent itself compacts, Hands that at
	// which it hands over, 0 for never.
	Manual, Hands int64
	Clears        int  // after how many turns the agent clears, 0 for never
	Subagents     bool // every other tool call starts one
	Asks          int  // how many seconds the dialog before each tool waits for a person, 0 for no dialogs
}

// sizes returns the size of a model's context window, and the size at which its
// client compacts.
func sizes(model string) (window, compacts int64) {
	switch {
	case strings.HasPrefix(model, "gpt"):
		return 258_400, 244_800
	case model == "claude-opus-4-8", model == "claude-sonnet-5":
		return 1_000_000, 967_000
	}
	return 200_000, 167_000
}

// pace is the average time of a reply or a tool call.
const pace = 8 * time.Second

// script has the agents of a demo, which create its events in order. They are
// the same for the same seed and start.
type script []*agent

// newScript returns the script of a demo that begins at the time seen.
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

// next removes and returns the next event.
func (f script) next() event {
	s := f.soonest()
	e := s.pending[0]
	s.pending = s.pending[1:]
	return e
}

// peek returns the time of the next event.
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

// agent is a simulated agent. pending has its events until the end of its turn.
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

	// Bill is the cost of this session, in US dollars; resume is the prompt
	// after a handoff.
	Bill   float64
	resume string
}

func (s *agent) between(r [2]int64) int64 { return r[0] + s.rng.Int64N(r[1]-r[0]+1) }

// pass advances the agent's time by about d.
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

// turn adds the events of a turn and of the pause after it.
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

// handsWithin is the time that the observer has to begin a handoff: it waits
// until an agent is idle.
const handsWithin = 12 * time.Second

// leave begins another session.
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

// newUUID returns a random UUID.
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
