package demo

import (
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// Seed decides what happens: the same each time. With this one an agent compacts five seconds after the demo begins.
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
	// Session is the client's id of the session, Before the id of the session that a clear leaves.
	Session, Before string
	// Context is the size of the context in tokens: of a reply with it, of a compaction before it.
	Context, Output int64
	Trigger         string // of a compaction: auto, manual
	Last            bool   // the reply ends its turn
}

// temper is how an agent works. Token counts are ranges [from, to].
type temper struct {
	name, model string
	// after is the context that a compaction or a clear leaves, full the context that makes the client compact, manual
	// the context at which the agent does it itself, 0 for never.
	after        [2]int64
	full, manual int64
	grow         [2]int64 // what a reply adds
	spike        int64    // what one reply in six adds besides
	pace         time.Duration
	replies      [2]int64 // of a turn
	rest         time.Duration
	clears       int // after how many turns the agent clears, 0 for never
	subagents    bool
	asks         time.Duration // how long the dialog before each tool waits for a person, 0 for no dialogs
}

// The sizes, in tokens, at which clients of 2.1.25 and later compact by themselves: the smallest that transcripts with
// windows of 200,000 show, and by the vendor's documentation where the window is a million.
const (
	fullContext      = 167_000
	fullLargeContext = 967_000
)

const (
	smallModel = "claude-sonnet-4-5"
	largeModel = "claude-opus-4-8"
	quickModel = "claude-haiku-4-5"
)

// tempers are the agents of the demo. The first is the parent of all others.
func tempers() []temper {
	second := time.Second
	return []temper{
		{
			name:    "demo-lead",
			model:   smallModel,
			after:   [2]int64{28e3, 34e3},
			full:    fullContext,
			grow:    [2]int64{300, 1500},
			pace:    2 * second,
			replies: [2]int64{3, 6},
			rest:    6 * second,
		},
		{
			name:    "demo-web",
			model:   smallModel,
			after:   [2]int64{38e3, 52e3},
			full:    fullContext,
			grow:    [2]int64{700, 2200},
			pace:    2 * second,
			replies: [2]int64{8, 20},
			rest:    6 * second,
		},
		{
			name:    "demo-api",
			model:   smallModel,
			after:   [2]int64{34e3, 46e3},
			full:    fullContext,
			grow:    [2]int64{400, 1600},
			pace:    3 * second,
			replies: [2]int64{6, 12},
			rest:    8 * second,
		},
		{
			name:    "demo-search",
			model:   smallModel,
			after:   [2]int64{31e3, 60e3},
			full:    fullContext,
			grow:    [2]int64{300, 900},
			spike:   15e3,
			pace:    2 * second,
			replies: [2]int64{2, 6},
			rest:    6 * second,
		},
		{
			name:    "demo-ingest",
			model:   smallModel,
			after:   [2]int64{112e3, 124e3},
			full:    fullContext,
			grow:    [2]int64{4e3, 9e3},
			pace:    2 * second,
			replies: [2]int64{12, 24},
			rest:    4 * second,
		},
		{
			name:    "demo-docs",
			model:   quickModel,
			after:   [2]int64{22e3, 30e3},
			full:    fullContext,
			grow:    [2]int64{200, 700},
			pace:    3 * second,
			replies: [2]int64{1, 3},
			rest:    4 * time.Minute,
		},
		{
			name:      "demo-review",
			model:     largeModel,
			after:     [2]int64{60e3, 80e3},
			full:      fullLargeContext,
			grow:      [2]int64{3e3, 9e3},
			pace:      2 * second,
			replies:   [2]int64{4, 9},
			rest:      8 * second,
			subagents: true,
		},
		{
			name:    "demo-train",
			model:   largeModel,
			after:   [2]int64{598e3, 610e3},
			full:    fullLargeContext,
			manual:  668e3,
			grow:    [2]int64{900, 2600},
			pace:    3 * second,
			replies: [2]int64{4, 10},
			rest:    7 * second,
		},
		{
			name:    "demo-ops",
			model:   smallModel,
			after:   [2]int64{18e3, 24e3},
			full:    fullContext,
			grow:    [2]int64{1500, 4e3},
			pace:    2 * second,
			replies: [2]int64{3, 8},
			rest:    6 * second,
			clears:  6,
		},
		{
			name:    "demo-data",
			model:   largeModel,
			after:   [2]int64{70e3, 110e3},
			full:    fullLargeContext,
			grow:    [2]int64{9e3, 24e3},
			pace:    2 * second,
			replies: [2]int64{3, 7},
			rest:    4 * second,
		},
		{
			name:    "demo-mobile",
			model:   quickModel,
			after:   [2]int64{30e3, 50e3},
			full:    fullContext,
			grow:    [2]int64{800, 2e3},
			spike:   14e3,
			pace:    2 * second,
			replies: [2]int64{2, 6},
			rest:    5 * second,
		},
		{
			name:    "demo-archive",
			model:   smallModel,
			after:   [2]int64{71e3, 73e3},
			full:    fullContext,
			grow:    [2]int64{300, 900},
			pace:    2 * second,
			replies: [2]int64{9, 12},
			rest:    24 * time.Hour,
		},
		{
			name:    "demo-infra",
			model:   smallModel,
			after:   [2]int64{44e3, 52e3},
			full:    fullContext,
			grow:    [2]int64{400, 1200},
			pace:    2 * second,
			replies: [2]int64{3, 5},
			rest:    6 * second,
			asks:    4 * time.Minute,
		},
	}
}

// script is the script of a demo: all that happens, in order, and the same for the same seed and start.
type script struct{ agents []*agent }

// newScript makes the script that begins at a time.
func newScript(seed uint64, start time.Time) *script {
	f := &script{}
	for i, temper := range tempers() {
		s := &agent{temper: temper, index: i, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		s.session, s.context = newUUID(s.rng), s.between(s.after)
		s.now = start.Add(time.Duration(s.rng.Int64N(int64(5 * time.Second))))
		f.agents = append(f.agents, s)
	}
	return f
}

// next is what happens next.
func (f *script) next() event {
	s := f.soonest()
	e := s.pending[0]
	s.pending = s.pending[1:]
	return e
}

// peek is when that is.
func (f *script) peek() time.Time { return f.soonest().pending[0].At }

func (f *script) soonest() (first *agent) {
	for _, s := range f.agents {
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

// turn adds a turn, and what comes between it and the next one.
func (s *agent) turn() {
	s.add(event{Kind: kindPrompt})
	for n := s.between(s.replies); n > 0; n-- {
		s.pass(s.pace)
		if s.context >= s.full {
			s.compact("auto")
		}
		if s.context += s.between(s.grow); s.spike > 0 && s.rng.IntN(6) == 0 {
			s.context += s.spike
		}
		s.add(event{
			Kind:    kindReply,
			Context: s.context,
			Output:  s.between([2]int64{80, 900}),
			Last:    n == 1,
		})
		if n == 1 {
			break
		}
		if s.pass(s.pace); s.subagents && s.rng.IntN(2) == 0 {
			s.add(event{
				Kind:    kindSubagent,
				Context: s.between([2]int64{9e3, 60e3}),
				Output:  s.between([2]int64{80, 900}),
			})
			s.pass(s.pace)
		}
		if s.asks > 0 {
			s.now = s.now.Add(askAfter)
			s.add(event{Kind: kindAsk})
			s.pass(s.asks)
		}
		s.add(event{Kind: kindToolResult})
	}
	s.now = s.now.Add(50 * time.Millisecond)
	s.add(event{Kind: kindTurnEnd})
	s.turns++
	s.pass(s.rest / 2)
	switch {
	case s.clears > 0 && s.turns%s.clears == 0:
		before := s.session
		s.session, s.context = newUUID(s.rng), s.between(s.after)
		s.add(event{Kind: kindClear, Before: before})
	case s.manual > 0 && s.context >= s.manual:
		s.compact("manual")
	}
	s.pass(s.rest / 2)
}

func (s *agent) compact(trigger string) {
	e := event{Kind: kindCompacting, Context: s.context, Trigger: trigger}
	s.add(e)
	s.pass(5 * time.Second)
	e.Kind = kindCompacted
	s.add(e)
	s.context = s.between(s.after)
	s.pass(s.pace)
}

// askAfter is the delay between a dialog and the client's hook about it.
const askAfter = 6 * time.Second

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
