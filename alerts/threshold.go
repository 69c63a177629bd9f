package alerts

import (
	"cmp"
	"slices"

	"sm/transcript"
)

// lookup caches the last result of seen: each reading asks for one client several times.
type lookup struct {
	valid bool
	by    client
	seen  sizes
}

// sizes are what was seen of a client's automatic compactions, in tokens: their median, and one of the smallest.
type sizes struct{ median, early int64 }

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
func (e *Engine) learn(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Auto || ev.PreTokens <= 0 {
		return
	}
	l := ObservedCompactions{Agent: a.Agent, Model: ev.Model, Window: ev.Window, CompactsAt: ev.CompactsAt, PreTokens: []int64{ev.PreTokens}}
	if last, ok := a.current(); ok {
		l.Model, l.Window, l.CompactsAt = cmp.Or(l.Model, last.Model), cmp.Or(l.Window, last.Window), cmp.Or(l.CompactsAt, last.CompactsAt)
	}
	e.Learn(l)
}

// forget takes back what learn has noted of a compaction that turned out to be idle.
func (e *Engine) forget(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Idle {
		return
	}
	for c, all := range e.learned {
		if i := len(all) - 1; i >= 0 && all[i] == ev.PreTokens && c.model == ev.Model && (c.agent == "" || c.agent == a.Agent) {
			delete(e.typical, c)
			e.keep(c, all[:i:i])
			return
		}
	}
}

// threshold is the context size at which the agent's client compacts, 0 when
// unknown: configured, else the median of what was seen of the agent alone, else of
// all clients like it, else assumed.
func (e *Engine) threshold(id AgentID, r Reading) (tokens int64, source ThresholdSource) {
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

// seen is what was seen of the agent alone, else of all clients like it; zero for nothing.
func (e *Engine) seen(id AgentID, r Reading) sizes {
	if len(e.typical) == 0 {
		return sizes{}
	}
	if c := (client{r.Model, r.Window, r.CompactsAt, id}); !e.lastHit.valid || e.lastHit.by != c {
		e.lastHit = lookup{valid: true, by: c, seen: e.find(c)}
	}
	return e.lastHit.seen
}

func (e *Engine) find(c client) sizes {
	for _, who := range [2]AgentID{c.agent, ""} {
		c.agent = who
		if seen := e.typical[c]; seen.median > 0 {
			return seen
		}
	}
	seen, _ := e.unassumed(c)
	return seen
}

// unassumed is what was learned of a client's model and window, and under which key, where it is
// not known what was assumed: earlier versions did not store that. It holds for a client if it
// is near to what is assumed of it: one that was told something of its own compacts elsewhere.
// Of clients that never compact by themselves nothing is assumed either.
func (e *Engine) unassumed(c client) (seen sizes, key client) {
	key = client{c.model, c.window, 0, ""}
	seen = e.typical[key]
	if c.assumed <= 0 || seen.median < c.assumed*odd/100 || c.assumed < seen.median*odd/100 {
		return sizes{}, key
	}
	return seen, key
}

func lessons(learned map[client][]int64) []ObservedCompactions {
	all := make([]ObservedCompactions, 0, len(learned))
	for c, tokens := range learned {
		all = append(all, ObservedCompactions{c.agent, c.model, c.window, c.assumed, slices.Clone(tokens)})
	}
	slices.SortFunc(all, func(a, b ObservedCompactions) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Window, b.Window), cmp.Compare(a.CompactsAt, b.CompactsAt), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// Learn teaches at what sizes in tokens clients of a model and a window compacted by
// themselves: what history tells at a first start. A size well below what is assumed
// holds for its agent alone, and for nobody where that is not known.
func (e *Engine) Learn(l ObservedCompactions) {
	for _, n := range l.PreTokens {
		c := client{l.Model, l.Window, l.CompactsAt, ""}
		if n < l.CompactsAt*odd/100 {
			if c.agent = l.Agent; c.agent == "" {
				continue
			}
		}
		if n > 0 {
			e.keep(c, append(e.learned[c], n))
		}
	}
}

// keep notes the newest of the sizes of a client.
func (e *Engine) keep(c client, all []int64) {
	all = newest(all, lessonsKept)
	e.learned[c], e.lastHit = all, lookup{}
	if n := len(all); n >= lessonsNeeded {
		sorted := slices.Sorted(slices.Values(all))
		e.typical[c] = sizes{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, early: sorted[(n-1)/5]}
		if old, key := e.unassumed(c); old.median > 0 && c.agent == "" {
			delete(e.learned, key)
			delete(e.typical, key)
		}
	}
}

// unlearn drops what was learned of one agent alone, and gives it to another one, unless
// that is "".
func (e *Engine) unlearn(from, to AgentID) {
	for c, all := range e.learned {
		if c.agent != from || from == "" {
			continue
		}
		delete(e.learned, c)
		delete(e.typical, c)
		e.lastHit = lookup{}
		if c.agent = to; to != "" {
			e.keep(c, all)
		}
	}
}
