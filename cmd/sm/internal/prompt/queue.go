package prompt

import (
	"context"
	"fmt"
	"path/filepath"

	"sm/handoff/codexcli"
	"sm/observer/fleet"
	"sm/transcript/clients"
)

// Queue adds messages to the queues that Codex keeps for its threads.
type Queue struct {
	Clients clients.Table
}

// Enqueue adds a text to the queue of a thread, unless it is there already.
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
