package alerts

import (
	"cmp"
	"slices"

	"sm/transcript"
)

// limits knows the size at which each client compacts, from its settings and from its past, and forecasts when that is
// reached.
type limits struct {
	*board
	learned    map[client][]int64
	medians    map[client]int64 // only clients whose compactions were seen often enough
	forecaster forecaster
}

const (
	// lessonsKept is how many compactions a learned threshold rests on at most,
	// lessonsNeeded how many at least.
	lessonsKept   = 25
	lessonsNeeded = 3
	// odd is the share of the assumed size, in percent, below which a compaction shows
	// that this client was told something that nobody knows of.
	odd = 90
)

// client is what the compaction threshold depends on. The assumed one stands for all
// that the client was told; agent is "" but for what holds for that one alone.
type client struct {
	model           string
	window, assumed int64
	agent           AgentID
}

// ThresholdSource says where a compaction threshold is from.
type ThresholdSource uint8

// The sources, the least certain first but for none.
const (
	ThresholdUnknown ThresholdSource = iota
	// ThresholdAssumed is what the client computes from window, version and what it
	// was told.
	ThresholdAssumed
	// ThresholdSeen is the median of at least three automatic compactions.
	ThresholdSeen
	ThresholdConfigured
)

// String is the source as metrics and JSON write it; "" for none.
func (s ThresholdSource) String() string {
	return [...]string{"", "assumed", "seen", "configured"}[s]
}

// learn notes how large a context was when its client compacted it.
func (li *limits) learn(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Auto || ev.PreTokens <= 0 {
		return
	}
	l := ObservedCompactions{Agent: a.Agent, Model: ev.Model, Window: ev.Window, CompactsAt: ev.CompactsAt, PreTokens: []int64{ev.PreTokens}}
	if last, ok := a.current(); ok {
		l.Model, l.Window, l.CompactsAt = cmp.Or(l.Model, last.Model), cmp.Or(l.Window, last.Window), cmp.Or(l.CompactsAt, last.CompactsAt)
	}
	li.Learn(l)
}

// threshold is the context size at which the agent's client compacts, 0 when
// unknown: configured, else the median of what was seen of the agent alone, else of
// all clients like it, else assumed.
func (li *limits) threshold(id AgentID, r Reading) (tokens int64, source ThresholdSource) {
	if li.options.CompactionThreshold > 0 {
		return li.options.CompactionThreshold, ThresholdConfigured
	}
	if seen, _ := li.seen(id, r); seen > 0 {
		return seen, ThresholdSeen
	}
	if r.CompactsAt > 0 {
		return r.CompactsAt, ThresholdAssumed
	}
	return 0, ThresholdUnknown
}

// seen is the median of what was seen of the agent alone, else of all clients like it, and under which key; 0 for nothing.
func (li *limits) seen(id AgentID, r Reading) (tokens int64, key client) {
	for _, who := range [2]AgentID{id, ""} {
		key = client{r.Model, r.Window, r.CompactsAt, who}
		if tokens = li.medians[key]; tokens > 0 {
			return tokens, key
		}
	}
	return unassumed(li.medians, key)
}

// unassumed is what was learned of a client's model and window, and under which key, where it is
// not known what was assumed: earlier versions did not store that. It holds for a client if it
// is near to what is assumed of it: one that was told something of its own compacts elsewhere.
// Of clients that never compact by themselves nothing is assumed either.
func unassumed(medians map[client]int64, c client) (tokens int64, key client) {
	key = client{c.model, c.window, 0, ""}
	tokens = medians[key]
	if c.assumed <= 0 || tokens < c.assumed*odd/100 || c.assumed < tokens*odd/100 {
		return 0, key
	}
	return tokens, key
}

func lessons(learned map[client][]int64) []ObservedCompactions {
	all := make([]ObservedCompactions, 0, len(learned))
	for c, sizes := range learned {
		all = append(all, ObservedCompactions{c.agent, c.model, c.window, c.assumed, slices.Clone(sizes)})
	}
	slices.SortFunc(all, func(a, b ObservedCompactions) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Window, b.Window), cmp.Compare(a.CompactsAt, b.CompactsAt), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// Learn teaches at what sizes in tokens clients of a model and a window compacted by
// themselves: what history tells at a first start. A size well below what is assumed
// holds for its agent alone, and for nobody where that is not known.
func (li *limits) Learn(l ObservedCompactions) {
	for _, n := range l.PreTokens {
		c := client{l.Model, l.Window, l.CompactsAt, ""}
		if n < l.CompactsAt*odd/100 {
			if c.agent = l.Agent; c.agent == "" {
				continue
			}
		}
		if n > 0 {
			li.keep(c, append(li.learned[c], n))
		}
	}
}

// keep notes the newest of the sizes of a client.
func (li *limits) keep(c client, sizes []int64) {
	sizes = newest(sizes, lessonsKept)
	li.learned[c] = sizes
	if n := len(sizes); n >= lessonsNeeded {
		sorted := slices.Sorted(slices.Values(sizes))
		li.medians[c] = (sorted[(n-1)/2] + sorted[n/2]) / 2
		if old, key := unassumed(li.medians, c); old > 0 && c.agent == "" {
			delete(li.learned, key)
			delete(li.medians, key)
		}
	}
}

// unlearn drops what was learned of one agent alone, and gives it to another one, unless
// that is "".
func (li *limits) unlearn(from, to AgentID) {
	for c, sizes := range li.learned {
		if c.agent != from || from == "" {
			continue
		}
		delete(li.learned, c)
		delete(li.medians, c)
		if c.agent = to; to != "" {
			li.keep(c, sizes)
		}
	}
}
