package wire

import (
	"sm/handoff/rotation"
	"sm/observer/api"
)

// Handoff converts a handoff.
func Handoff(x rotation.Rotation) api.Handoff {
	out := api.Handoff{
		ID:          x.ID,
		Agent:       x.Agent,
		Path:        x.Path,
		Auto:        x.Auto(),
		State:       x.State.String(),
		Reason:      x.Reason,
		Detail:      x.Detail,
		Way:         x.Way.String(),
		Document:    x.Document,
		SessionID:   x.Session,
		NextSession: x.Next,
		MadeAt:      x.Made,
		ChangedAt:   x.Changed,
	}
	if x.Auto() {
		out.Path = x.Read
	}
	if !x.State.Ended() {
		out.Waiting = x.Last
	}
	return out
}
