package transcripttest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// OracleFleet reads the files of a fleet, keyed by path, and says what all of them
// hold together. It knows that a record is a copy, but not which of two equal ones
// was first: Figures and Inherited of the files stay as in [Oracle], and only the
// sums over the fleet are right. Files called agent-*.jsonl are subagents'.
func OracleFleet(files map[string][]byte) *Truth {
	t := &Truth{Files: map[string]*FileTruth{}}
	costs, owned := map[string]Tokens{}, map[string]bool{}
	links, compactions := map[string]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		r := reread(files[name], false)
		f := r.truth()
		t.Files[name] = &f
		t.Lines += f.Lines
		t.BadLines += f.BadLines
		t.Bytes += f.Bytes
		for id, cost := range r.costs {
			if old, known := costs[id]; !known || cost.costlier(old) {
				costs[id] = cost
			}
			owned[id] = owned[id] || !r.side[id]
		}
		t.Spent.plus(r.nameless)
		t.Subagents.plus(r.namelessSide)
		if !isAgentFile(name) {
			compactions = append(compactions, r.link(name, links)...)
		}
	}
	for id, cost := range costs {
		if owned[id] {
			t.Spent.add(cost)
		} else {
			t.Subagents.add(cost)
		}
	}
	roots := map[string]bool{}
	for _, c := range compactions {
		roots[find(links, c)] = true
	}
	t.DistinctCompactions = len(roots)
	return t
}

// link names the file's compactions and ties each name to all of its keys.
func (r *reader) link(file string, links map[string]string) (names []string) {
	for i, ev := range r.events {
		name := fmt.Sprintf("%s#%d", file, i)
		names = append(names, name)
		for _, key := range ev.keys() {
			union(links, name, key)
		}
	}
	return names
}

func isAgentFile(name string) bool { return strings.HasPrefix(path.Base(name), "agent-") }

// keys are all names under which the same compaction may stand in another file.
func (e *event) keys() []string {
	var keys []string
	for _, id := range []string{e.uuid, e.origin} {
		if id != "" {
			keys = append(keys, "uuid "+id)
		}
	}
	if e.boundary && e.preTokens > 0 && !e.at.IsZero() {
		keys = append(keys, fmt.Sprintf("stamp %s %s %d", e.at.Format(time.RFC3339Nano), e.trigger, e.preTokens))
	}
	if e.digest != "" {
		keys = append(keys, "text "+e.digest)
	}
	return keys
}

// find and union keep sets of names that mean the same.
func find(links map[string]string, a string) string {
	for links[a] != "" {
		a = links[a]
	}
	return a
}

func union(links map[string]string, a, b string) {
	if a, b = find(links, a), find(links, b); a != b {
		links[a] = b
	}
}
