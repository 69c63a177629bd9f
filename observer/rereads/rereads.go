// Package rereads lists the files that agents read again after compactions, for
// texts that point an agent to them.
//
// A name is text of a transcript: it is reduced to characters that have no
// meaning for a shell or a reader of instructions.
package rereads

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/wording"
)

const (
	// maxFiles is the maximum number of files, and maxLength the maximum number
	// of characters of a name. A longer name is cut at its beginning.
	maxFiles, maxLength = 5, 60
)

// Names returns the files that an agent read again after its last compactions,
// the most tokens first; if there are none, those of other agents in the same
// directory. all has the present views of all agents.
func Names(agent *fleet.View, all iter.Seq[fleet.View]) []string {
	own := map[string]int64{}
	others := map[string]int64{}
	for w := range all {
		if w.Bill == nil || w.Bill.Kind != transcript.BilledCompaction {
			continue
		}
		tokens := others
		if w.Agent.ID == agent.Agent.ID {
			tokens = own
		} else if w.CWD != agent.CWD || agent.CWD == "" {
			continue
		}
		for _, f := range w.Bill.Files {
			name := []rune(wording.Reduce(f.Name, "._-/"))
			tokens[string(name[max(0, len(name)-maxLength):])] += f.Tokens + 1
		}
	}
	if delete(own, ""); len(own) == 0 {
		own = others
		delete(own, "")
	}
	names := slices.SortedFunc(
		maps.Keys(own),
		func(a, b string) int {
			return cmp.Or(cmp.Compare(own[b], own[a]), cmp.Compare(a, b))
		},
	)
	return names[:min(len(names), maxFiles)]
}
