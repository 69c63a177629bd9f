package alerts

import "time"

const (
	// usualGrowth is the mean growth of a context by one reply in public
	// transcripts, in tokens. It counts as the agent's first usualReplies
	// replies.
	usualGrowth  = 1300
	usualReplies = 12

	// replyShare and turnShare are the weights of the newest figure in a mean:
	// the growth changes within a cycle.
	replyShare = 0.03
	turnShare  = 0.15

	// outlier limits a figure to this multiple of the mean, so that a single
	// huge reply does not decide a forecast.
	outlier = 5

	pause = Instant(Pause)
)

// Pause is the longest gap between two events of an agent that counts as work.
const Pause = 5 * time.Minute

// Mean is an exponential mean; of the first figures it is the plain mean.
type Mean struct {
	N     int     `json:",omitzero"`
	Value float64 `json:",omitzero"`
}

func (m *Mean) add(x, share float64) {
	if m.N >= 3 {
		most := outlier * max(m.Value, -m.Value)
		x = max(-most, min(x, most))
	}

	m.N++
	m.Value += max(share, 1/float64(m.N)) * (x - m.Value)
}

// Growth is the growth rate of an agent's context, over all its cycles.
type Growth struct {
	// Reply is the growth by one reply in tokens, zero before the second reply.
	// Turn is the growth by one turn, Work the duration of a reply in seconds.
	Reply Mean `json:",omitzero"`
	Turn  Mean `json:",omitzero"`
	Work  Mean `json:",omitzero"`

	// Base is the context at the beginning of the present turn, Top the newest
	// context; 0 if unknown. A turn counts only if Moved is true.
	Base  int64 `json:",omitzero"`
	Top   int64 `json:",omitzero"`
	Moved bool  `json:",omitzero"`

	// At is the time of the newest event while the agent works, Seconds the
	// work since the last reply.
	At      Instant `json:",omitzero"`
	Seconds float64 `json:",omitzero"`
}

// reply returns the mean growth by one reply. It is always positive.
func (g *Growth) reply() Mean {
	if g.Reply.N == 0 {
		return Mean{N: usualReplies, Value: usualGrowth}
	}
	return g.Reply
}

// step applies a change of the current reading. was has no tokens if now is the
// first reading of the cycle.
func (g *Growth) step(was, now Reading) {
	g.pass(now.At)
	g.At = max(g.At, now.At)
	g.Top = now.Tokens
	g.Moved = true

	if was.Tokens == 0 {
		g.Base = now.Tokens
		g.Seconds = 0
		return
	}
	if was.Tokens == now.Tokens {
		return
	}

	g.Reply = g.reply()
	g.Reply.add(float64(now.Tokens-was.Tokens), replyShare)
	g.Work.add(g.Seconds, replyShare)
	g.Seconds = 0
}

// pass adds the time since the last event to the work. In a gap longer than
// Pause the agent was mostly idle, for example waiting for a permission: such a
// gap counts as the usual duration of a reply.
func (g *Growth) pass(t Instant) {
	if g.At == 0 || t <= g.At {
		return
	}

	seconds := time.Duration(min(t-g.At, pause)).Seconds()
	if t-g.At > pause && g.Work.N > 0 {
		seconds = min(seconds, g.Work.Value)
	}
	g.Seconds += seconds
}

// turn ends a turn that has had readings.
func (g *Growth) turn() {
	if !g.Moved {
		return
	}

	g.Turn.add(float64(g.Top-g.Base), turnShare)
	g.Base = g.Top
	g.Moved = false
}

// open begins a cycle. The turn in which it begins counts for no cycle, because
// the compaction removed what the turn had added.
func (g *Growth) open(a *AgentState) {
	*g = Growth{
		Reply: g.Reply,
		Turn:  g.Turn,
		Work:  g.Work,
		At:    g.At,
	}
	if r, known := a.current(); known {
		g.Base = r.Tokens
		g.Top = r.Tokens
		g.Moved = true
	}
}
