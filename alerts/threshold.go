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
	learned map[client][]int64
	typical map[client]sizes // only clients whose compactions were seen often enough; follows from learned
	asked   question
}

// question is what seen was asked last, and its answer: the client of one agent is asked for several times for each reading.
type question struct {
	known bool
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

// forget takes back what learn has noted of a compaction that turned out to be idle.
func (li *limits) forget(a *AgentState, ev *Event) {
	if ev.Trigger != transcript.Idle {
		return
	}
	for c, all := range li.learned {
		if i := len(all) - 1; i >= 0 && all[i] == ev.PreTokens && c.model == ev.Model && (c.agent == "" || c.agent == a.Agent) {
			delete(li.typical, c)
			li.keep(c, all[:i:i])
			return
		}
	}
}

// threshold is the context size at which the agent's client compacts, 0 when
// unknown: configured, else the median of what was seen of the agent alone, else of
// all clients like it, else assumed.
func (li *limits) threshold(id AgentID, r Reading) (tokens int64, source ThresholdSource) {
	if li.options.CompactionThreshold > 0 {
		return li.options.CompactionThreshold, ThresholdConfigured
	}
	if seen := li.seen(id, r); seen.median > 0 {
		return seen.median, ThresholdSeen
	}
	if r.CompactsAt > 0 {
		return r.CompactsAt, ThresholdAssumed
	}
	return 0, ThresholdUnknown
}

// seen is what was seen of the agent alone, else of all clients like it; zero for nothing.
func (li *limits) seen(id AgentID, r Reading) sizes {
	if len(li.typical) == 0 {
		return sizes{}
	}
	if c := (client{r.Model, r.Window, r.CompactsAt, id}); !li.asked.known || li.asked.by != c {
		li.asked = question{known: true, by: c, seen: li.find(c)}
	}
	return li.asked.seen
}

func (li *limits) find(c client) sizes {
	for _, who := range [2]AgentID{c.agent, ""} {
		c.agent = who
		if seen := li.typical[c]; seen.median > 0 {
			return seen
		}
	}
	seen, _ := li.unassumed(c)
	return seen
}

// unassumed is what was learned of a client's model and window, and under which key, where it is
// not known what was assumed: earlier versions did not store that. It holds for a client if it
// is near to what is assumed of it: one that was told something of its own compacts elsewhere.
// Of clients that never compact by themselves nothing is assumed either.
func (li *limits) unassumed(c client) (seen sizes, key client) {
	key = client{c.model, c.window, 0, ""}
	seen = li.typical[key]
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
func (li *limits) keep(c client, all []int64) {
	all = newest(all, lessonsKept)
	li.learned[c], li.asked = all, question{}
	if n := len(all); n >= lessonsNeeded {
		sorted := slices.Sorted(slices.Values(all))
		li.typical[c] = sizes{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, early: sorted[(n-1)/5]}
		if old, key := li.unassumed(c); old.median > 0 && c.agent == "" {
			delete(li.learned, key)
			delete(li.typical, key)
		}
	}
}

// unlearn drops what was learned of one agent alone, and gives it to another one, unless
// that is "".
func (li *limits) unlearn(from, to AgentID) {
	for c, all := range li.learned {
		if c.agent != from || from == "" {
			continue
		}
		delete(li.learned, c)
		delete(li.typical, c)
		li.asked = question{}
		if c.agent = to; to != "" {
			li.keep(c, all)
		}
	}
}
