package pages

import (
	"io"

	webpage "sm/dashboards/page"
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

	meta, err := io.ReadAll(io.LimitReader(f, maxMeta))
	if err != nil {
		return ""
	}
	return claude.SubagentType(meta)
}

// Subagents are those of a session as the API gives them. It reads files, and is not for the loop.
func Subagents(of []fleet.Subagent) (all []api.Subagent) {
	for i := range of {
		a := &of[i]
		x := api.Subagent{ID: a.ID, Type: subagentType(a), PeakTokens: a.Peak, Compactions: a.Compactions}
		if a.Known {
			x.ContextTokens = &a.Tokens
		}
		if !a.Reading.IsZero() {
			x.LastReading = &a.Reading
		}
		all = append(all, x)
	}
	return all
}

// subagents are those of a session as the page takes them.
func subagents(of []fleet.Subagent) (all []webpage.Under) {
	for i := range of {
		a := &of[i]
		x := webpage.Under{
			Name: a.ID, Kind: subagentType(a), Window: a.Window.Tokens, Peak: a.Peak, Compactions: a.Compactions, Seen: int64(curve.Seconds(a.Active)),
		}
		if a.Known {
			x.Tokens = a.Tokens
		}
		all = append(all, x)
	}
	return all
}
