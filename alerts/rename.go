package alerts

import "slices"

// Rename gives an agent another id, under which it goes on as before; what it has been
// told keeps its keys. It reports false, and does nothing, when the old id is not known
// or the new one is.
func (e *Engine) Rename(from, to AgentID) bool {
	a := e.agents[from]
	if a == nil || to == "" || e.agents[to] != nil {
		return false
	}
	e.Forget(from)
	a.Agent = to
	e.agents[to] = a
	i, _ := slices.BinarySearchFunc(e.order, to, byID)
	e.order = slices.Insert(e.order, i, a)
	e.changed[to] = struct{}{}
	return true
}

// Open lists what was said in an agent's present cycle and not withdrawn: what its
// messages in the queue may be, should the agent be forgotten.
func (e *Engine) Open(id AgentID) (keys []Key) {
	a := e.agents[id]
	if a == nil {
		return nil
	}
	for _, s := range a.Said {
		if s.Open {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// Learn teaches at what size in tokens a client of a model and a window compacted by
// itself, without any agent: what history tells at a first start.
func (e *Engine) Learn(model string, window, preTokens int64) {
	if preTokens <= 0 {
		return
	}
	c := client{model, window}
	sizes := append(e.learned[c], preTokens)
	e.learned[c] = slices.Delete(sizes, 0, max(0, len(sizes)-lessonsKept))
}
