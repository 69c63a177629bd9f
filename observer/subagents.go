package observer

import (
	"sm/handoff/files"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude"
)

// subagentsOf converts subagents for the API and adds their types. It reads
// files, so it must not be called in the loop.
func subagentsOf(list []fleet.Subagent) (all []api.Subagent) {
	for i := range list {
		a := &list[i]
		meta, _ := files.ReadSmall(claude.SubagentMeta(a.Path)) // not all have one
		x := api.Subagent{
			ID:           a.ID,
			Type:         claude.SubagentType(meta),
			PeakTokens:   a.Peak,
			Compactions:  a.Total(),
			WindowTokens: a.Window.Tokens,
			LastActive:   a.Active.Time(),
		}
		if tokens, known := a.Context(); known {
			x.ContextTokens = &tokens
		}
		if a.Reading.At != 0 {
			x.LastReading = new(a.Reading.At.Time())
		}
		all = append(all, x)
	}
	return all
}
