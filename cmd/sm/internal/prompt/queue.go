package prompt

import (
	"context"
	"fmt"
	"path/filepath"

	"sm/handoff/codexcli"
	"sm/observer/fleet"
	"sm/transcript/clients"
)

// Queue gives messages to threads of Codex by the queue that the client keeps for each.
type Queue struct {
	Clients clients.Table
}

// Enqueue puts a text there, if it is not there yet.
func (q Queue) Enqueue(
	ctx context.Context,
	to fleet.Thread,
	id, text string,
) (placed bool, err error) {
	root, ok := q.Clients.FormatOf(to.Path, nil).RootOf(to.Path, to.ID)
	if !ok {
		return false, fmt.Errorf("%s is in no folder of Codex, so its queue is unknown", to.Path)
	}
	return codexcli.Add(ctx, filepath.Dir(root), to.PID, to.ID, id, text)
}
