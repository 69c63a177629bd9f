package observer

import (
	"io"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/transcript/claude"
)

// maxMeta limits the file that describes a subagent, in bytes.
const maxMeta = 64 << 10

// subagentType returns the type of a subagent, or "" if none is known.
func subagentType(a *fleet.Subagent) string {
	f, _, err := curve.Open(claude.SubagentMeta(a.Path))
	if err != nil {
		return ""
	}
	defer f.Close()

	meta, _ := io.ReadAll(io.LimitReader(f, maxMeta)) // of a part no type is known
	return claude.SubagentType(meta)
}

// subagentsOf returns subagents with their types. It reads files, so the loop does
// not call it.
func subagentsOf(list []fleet.Subagent) (all []api.Subagent) {
	for i := range list {
		a := &list[i]
		x := api.Subagent{
			ID:           a.ID,
			Type:         subagentType(a),
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
