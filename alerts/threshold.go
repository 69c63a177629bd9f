package alerts

import (
	"cmp"
	"slices"

	"sm/transcript"
)

// sizes are statistics of the context sizes before automatic compactions, in
// tokens: the median, and one of the smallest.
type sizes struct{ median, early int64 }

const (
	// sizesKept and sizesNeeded are the maximum and the minimum number of
	// compactions for an observed threshold.
	sizesKept   = 25
	sizesNeeded = 3
	// minShare is the percentage of the assumed size below which a compaction
	// shows that the client has settings unknown to sm.
	minShare = 90
)

// ThresholdSource is the origin of a compaction threshold.
type ThresholdSource uint8

// The sources. After ThresholdUnknown the least certain comes first.
const (
	ThresholdUnknown ThresholdSource = iota
	// ThresholdAssumed is computed from window, version and settings of the
	// client.
	ThresholdAssumed
	// ThresholdSeen is the median of at least three automatic compactions.
	ThresholdSeen
	ThresholdConfigured
)

// String returns the source as metrics and JSON write it; "" for
// ThresholdUnknown.
func (s ThresholdSource) String() string {
	return [...]string{"", "assumed", "seen", "configured"}[s]
}

// learn records the size of a context before its automatic compaction.
func (e *Engine) learn(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Auto || ev.PreTokens <= 0 {
		return
	}
	c := Clients{
		Agent:      a.Agent,
		Model:      ev.Model,
		Window:     ev.Window,
		CompactsAt: ev.CompactsAt,
	}
	if last, ok := a.current(); ok {
		c.Model = cmp.Or(c.Model, last.Model)
		c.Window = cmp.Or(c.Window, last.Window)
		c.CompactsAt = cmp.Or(c.CompactsAt, last.CompactsAt)
	}
	e.Learn(ObservedCompactions{c, []int64{ev.PreTokens}})
}

// forget removes the size that learn recorded for a compaction that later
// proved to be idle.
func (e *Engine) forget(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Idle {
		return
	}
	for c, all := range e.learned {
		if i := len(all) - 1; i >= 0 && all[i] == ev.PreTokens && c.Model == ev.Model &&
			(c.Agent == "" || c.Agent == a.Agent) {
			e.keep(c, all[:i:i])
			return
		}
	}
}

// threshold returns the context size at which the agent's client compacts, 0 if
// unknown: the configured size, else the median observed for the agent alone,
// else the median for all such clients, else the assumed size.
func (e *Engine) threshold(id string, r Reading) (tokens int64, source ThresholdSource) {
	if e.options.CompactionThreshold > 0 {
		return e.options.CompactionThreshold, ThresholdConfigured
	}
	if seen := e.seen(id, r); seen.median > 0 {
		return seen.median, ThresholdSeen
	}
	if r.CompactsAt > 0 {
		return r.CompactsAt, ThresholdAssumed
	}
	return 0, ThresholdUnknown
}

// seen returns the sizes observed for the agent alone, else for all such
// clients.
func (e *Engine) seen(id string, r Reading) sizes {
	c := Clients{
		Model:      r.Model,
		Window:     r.Window,
		CompactsAt: r.CompactsAt,
	}
	for _, c.Agent = range [...]string{id, ""} {
		n := len(e.learned[c])
		if n < sizesNeeded {
			continue
		}
		all := append(make([]int64, 0, sizesKept), e.learned[c]...) // allocated on the stack
		slices.Sort(all)
		return sizes{median: (all[(n-1)/2] + all[n/2]) / 2, early: all[(n-1)/5]}
	}
	return sizes{}
}

// Learned returns the sizes at which clients have compacted, in a fixed order.
func (e *Engine) Learned() []ObservedCompactions {
	all := make([]ObservedCompactions, 0, len(e.learned))
	for c, tokens := range e.learned {
		all = append(all, ObservedCompactions{c, slices.Clone(tokens)})
	}
	slices.SortFunc(all, func(a, b ObservedCompactions) int {
		return cmp.Or(
			cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Window, b.Window),
			cmp.Compare(a.CompactsAt, b.CompactsAt),
			cmp.Compare(a.Agent, b.Agent),
		)
	})
	return all
}

// Learn records sizes before automatic compactions, as read from old
// transcripts. A size well below the assumed one applies to its agent only, and
// is ignored if the agent is unknown.
func (e *Engine) Learn(l ObservedCompactions) {
	for _, n := range l.PreTokens {
		c := l.Clients
		switch {
		case n >= c.CompactsAt*minShare/100:
			c.Agent = ""
		case c.Agent == "":
			continue
		}
		if n > 0 {
			e.keep(c, append(e.learned[c], n))
		}
	}
}

// keep stores the newest sizes of a client.
func (e *Engine) keep(c Clients, all []int64) { e.learned[c] = newest(all, sizesKept) }

// unlearn removes the sizes recorded for one agent only, and assigns them to
// the agent to unless that is "".
func (e *Engine) unlearn(from, to string) {
	for c, all := range e.learned {
		if c.Agent != from {
			continue
		}
		delete(e.learned, c)
		if c.Agent = to; to != "" {
			e.keep(c, all)
		}
	}
}
