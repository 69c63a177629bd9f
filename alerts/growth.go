package alerts

import "time"

const (
	// usualGrowth is by how many tokens a reply makes a context grow, in the
	// mean of public transcripts. It counts as the agent's first usualReplies.
	usualGrowth  = 1300
	usualReplies = 12

	// replyShare and turnShare are the weights of the newest figure in a mean:
	// habits change within a cycle.
	replyShare = 0.03
	turnShare  = 0.15

	// outlier limits a figure to so many times the mean, so that one huge reply
	// does not decide a forecast.
	outlier = 5

	pause = Instant(Pause)
)

// Pause is the longest gap between two signs of life that counts as work.
const Pause = 5 * time.Minute

// Mean is an exponential mean. It is the plain mean of the first figures.
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

// Growth is how fast an agent's context grows, over all its cycles.
type Growth struct {
	// Reply is by how many tokens a reply makes the context grow, zero before
	// the second one. Turn is the same of a turn, Work the seconds of a reply.
	Reply Mean `json:",omitzero"`
	Turn  Mean `json:",omitzero"`
	Work  Mean `json:",omitzero"`

	// Base is the context at the beginning of the present turn, Top its newest;
	// 0 for none. Only a turn that Moved counts.
	Base  int64 `json:",omitzero"`
	Top   int64 `json:",omitzero"`
	Moved bool  `json:",omitzero"`

	// At is the newest sign of life while the agent works, Seconds the work
	// since the last reply.
	At      Instant `json:",omitzero"`
	Seconds float64 `json:",omitzero"`
}

// reply is the mean growth by a reply. It is always positive.
func (g *Growth) reply() Mean {
	if g.Reply.N == 0 {
		return Mean{N: usualReplies, Value: usualGrowth}
	}
	return g.Reply
}

// step takes a change of the current reading; was has no tokens when this is the
// cycle's first.
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

// pass counts the time since the last sign of life as work. In a gap longer than
// a pause the agent was mostly idle, waiting for a permission for instance: the
// gap counts as a usual reply.
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

// turn ends a turn, if it has shown readings.
func (g *Growth) turn() {
	if !g.Moved {
		return
	}

	g.Turn.add(float64(g.Top-g.Base), turnShare)
	g.Base = g.Top
	g.Moved = false
}

// open begins a cycle. The turn in which it begins counts for no cycle: the
// compaction cut away what it had added.
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
