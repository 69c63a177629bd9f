package prompt

import (
	"context"
	"fmt"
	"path/filepath"

	"sm/handoff/queue"
	"sm/observer/fleet"
	"sm/transcript/codex"
)

// Queue gives messages to threads of Codex by the queue that the client keeps for each.
type Queue struct{ queue *queue.Queue }

// NewQueue is the queue of this machine's clients.
func NewQueue() Queue { return Queue{queue.New()} }

// Enqueue puts a text there, if it is not there yet.
func (q Queue) Enqueue(ctx context.Context, to fleet.Thread, id, text string) (placed bool, err error) {
	root, ok := codex.Format(nil).RootOf(to.Path, to.ID)
	if !ok {
		return false, fmt.Errorf("%s does not lie in a folder of Codex: its queue is not known", to.Path)
	}
	return q.queue.Add(ctx, filepath.Dir(root), to.PID, to.ID, id, text)
}
