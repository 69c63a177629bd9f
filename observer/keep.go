package observer

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/observer/state"
	"sm/transcript/claude/hook"
)

// The names of what is kept beside the fleet's records. They are stored: never change
// one.
const (
	agentValues   = "agent/"
	engineValues  = "engine/agent/"
	engineValue   = "engine/rest"
	messageValues = "message/"
	queueValue    = "queue/counters"
	handoffValues = "handoff/rotation/"
	seatValues    = "handoff/agent/"
	handoffValue  = "handoff/counters"
	hooksValue    = "hooks/counters"
	rootValues    = "projects/"
)

// kept is what a restart goes on from besides the fleet's own records.
type kept struct {
	agents   []fleet.Agent
	engine   alerts.State
	messages []outbox.Message
	ended    outbox.Counters
	hooks    hookCounts
	roots    []string // projects folders learnt from clients

	rotations []rotation.Rotation
	seats     []rotation.AgentRecord
	rotated   rotation.Counters
}

// loadKept reads what batches have stored.
func loadKept(store *state.Store) (k kept, err error) {
	values, err := store.Values("")
	if err != nil {
		return k, err
	}
	var rest alerts.State
	var agents []alerts.AgentState
	for _, v := range values {
		switch name := v.Name; {
		case strings.HasPrefix(name, agentValues):
			err = decode(v, &k.agents)
		case strings.HasPrefix(name, engineValues):
			err = decode(v, &agents)
		case strings.HasPrefix(name, messageValues):
			err = decode(v, &k.messages)
		case strings.HasPrefix(name, handoffValues):
			err = decode(v, &k.rotations)
		case strings.HasPrefix(name, seatValues):
			err = decode(v, &k.seats)
		case strings.HasPrefix(name, rootValues):
			k.roots = append(k.roots, strings.TrimPrefix(name, rootValues))
		case name == handoffValue:
			err = json.Unmarshal(v.Data, &k.rotated)
		case name == engineValue:
			err = json.Unmarshal(v.Data, &rest)
		case name == queueValue:
			err = json.Unmarshal(v.Data, &k.ended)
		case name == hooksValue:
			err = json.Unmarshal(v.Data, &k.hooks)
		}
		if err != nil {
			return k, fmt.Errorf("read %s: %w; it was made by another sm: upgrade, or choose another directory with --state", v.Name, err)
		}
	}
	rest.Agents = agents
	k.engine = rest
	return k, nil
}

// decode appends one value to a list.
func decode[T any](v state.Value, list *[]T) error {
	var x T
	if err := json.Unmarshal(v.Data, &x); err != nil {
		return err
	}
	*list = append(*list, x)
	return nil
}

// batch is what one transaction holds, and what follows when it is stored.
type batch struct {
	delta   fleet.Delta
	values  []state.Value
	effects []effect
	waiting []chan<- error
}

// take collects what has changed since the last batch; ok is false for nothing.
func (c *core) take() (b *batch, ok bool) {
	b = &batch{effects: c.effects, waiting: c.waiting}
	c.effects, c.waiting = nil, nil
	var any bool
	b.delta, any = c.fleet.Take()
	for i := range b.delta.Agents {
		b.put(agentValues+b.delta.Agents[i].ID, &b.delta.Agents[i])
	}
	for _, id := range b.delta.Left {
		b.values = append(b.values, state.Value{Name: agentValues + id})
	}
	b.policy(c.engine)
	b.queue(c.queue)
	b.handoffs(c.rotations, c.log)
	if c.hooks.changed {
		c.hooks.changed = false
		b.put(hooksValue, c.hooks)
	}
	for _, root := range c.roots {
		if root.kept {
			b.put(rootValues+root.path, true)
		} else {
			b.values = append(b.values, state.Value{Name: rootValues + root.path})
		}
	}
	c.roots = nil
	if len(b.values) > 0 { // messages, handoffs and reminders show, too
		c.edits.Add(1)
	}
	return b, any || len(b.values)+len(b.effects)+len(b.waiting) > 0
}

func (b *batch) policy(e *alerts.Engine) {
	news := e.Reminded()
	changed, gone := e.Take()
	if changed.Agents == nil && gone == nil && !news {
		return
	}
	for i := range changed.Agents {
		b.put(engineValues+string(changed.Agents[i].Agent), &changed.Agents[i])
	}
	for _, id := range gone {
		b.values = append(b.values, state.Value{Name: engineValues + string(id)})
	}
	changed.Agents = nil
	b.put(engineValue, &changed)
}

func (b *batch) queue(q *outbox.Queue) {
	d, any := q.Take()
	if !any {
		return
	}
	for i := range d.Messages {
		b.put(messageValues+string(d.Messages[i].ID), &d.Messages[i])
	}
	for _, id := range d.Gone {
		b.values = append(b.values, state.Value{Name: messageValues + string(id)})
	}
	b.put(queueValue, &d.Counters)
}

func (b *batch) handoffs(m *rotation.Machine, log *slog.Logger) {
	d, any := m.Take()
	if !any {
		return
	}
	for i := range d.Rotations {
		r := &d.Rotations[i]
		log.Debug("handoff goes on", "agent", r.Agent, "id", r.ID, "state", r.State, "reason", r.Reason)
		b.put(handoffValues+string(d.Rotations[i].ID), &d.Rotations[i])
	}
	for _, id := range d.Gone {
		b.values = append(b.values, state.Value{Name: handoffValues + string(id)})
	}
	for i := range d.Agents {
		b.put(seatValues+string(d.Agents[i].Agent), &d.Agents[i])
	}
	for _, agent := range d.Left {
		b.values = append(b.values, state.Value{Name: seatValues + string(agent)})
	}
	b.put(handoffValue, &d.Counters)
}

// put adds a value. All that is kept are plain values, which JSON can write.
func (b *batch) put(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err)) // a mistake in the program that its first test shows
	}
	b.values = append(b.values, state.Value{Name: name, Data: data})
}

// hookCounts counts hooks by event; all that are not known are one.
type hookCounts struct {
	By      map[hook.Event]uint64
	changed bool
}

const otherHook hook.Event = "other"

func (h *hookCounts) count(e hook.Event) {
	if !e.Known() {
		e = otherHook
	}
	if h.By == nil {
		h.By = map[hook.Event]uint64{}
	}
	h.By[e]++
	h.changed = true
}
