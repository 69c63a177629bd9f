// Package persist has the names of the values that the observer's parts store
// beside the fleet's records, and reads these values at the next start.
//
// Invariants: a name is never changed, as older states have it; a [Batch] is
// stored in one transaction; a value of another version that cannot be read is
// an error. observer/state writes the file.
package persist

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/observer/projects"
	"sm/observer/state"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// The names of the values. They are stored: never change one.
const (
	agentValues   = "agent/"
	engineValues  = "engine/agent/"
	engineValue   = "engine/rest"
	messageValues = "message/"
	queueValue    = "queue/counters"
	handoffValues = "handoff/rotation/"
	recordValues  = "handoff/agent/"
	handoffValue  = "handoff/counters"
	hooksValue    = "hooks/counters"
	rootValues    = "projects/"
)

// Persisted is the stored state besides the fleet's own records.
type Persisted struct {
	Agents    []fleet.Agent
	Engine    alerts.State
	Messages  []outbox.Message
	Ended     outbox.Counters // of messages
	Hooks     HookCounts
	Roots     []string // learned folders of transcripts
	Rotations []rotation.Rotation
	Records   []rotation.AgentRecord
	Rotated   rotation.Counters
}

// Load reads the values of all batches.
func Load(store *state.Store) (k Persisted, err error) {
	err = store.Values(func(v state.Value) error {
		if err := k.read(v); err != nil {
			return fmt.Errorf(
				"read %s: %w; it was made by another sm: upgrade, or choose another directory with --state",
				v.Name,
				err,
			)
		}
		return nil
	})
	return k, err
}

// Check returns the error with which Load would refuse a value.
func Check(v state.Value) error { return new(Persisted).read(v) }

// read adds a value.
func (k *Persisted) read(v state.Value) error {
	root, isRoot := strings.CutPrefix(v.Name, rootValues)
	has := func(prefix string) bool { return strings.HasPrefix(v.Name, prefix) }
	switch {
	case isRoot:
		k.Roots = append(k.Roots, root)
	case has(agentValues):
		var a agent
		err := json.Unmarshal(v.Data, &a)
		to := &a.Agent.AutoCompact
		*to = hook.AutoCompact(a.AutoCompact.settings)
		for _, rule := range a.AutoCompact.Models {
			if to.Models == nil {
				to.Models = hook.Models{}
			}
			to.Models[rule.Model] = rule.Tokens
		}
		k.Agents = append(k.Agents, a.Agent)
		return err
	case has(engineValues):
		return decode(v, &k.Engine.Agents)
	case has(messageValues):
		return decode(v, &k.Messages)
	case has(handoffValues):
		return decode(v, &k.Rotations)
	case has(recordValues):
		return decode(v, &k.Records)
	case has(handoffValue):
		return json.Unmarshal(v.Data, &k.Rotated)
	case has(engineValue):
		agents := k.Engine.Agents // null in the value
		err := json.Unmarshal(v.Data, &k.Engine)
		k.Engine.Agents = agents
		return err
	case has(queueValue):
		return json.Unmarshal(v.Data, &k.Ended)
	case has(hooksValue):
		return json.Unmarshal(v.Data, &k.Hooks)
	}
	return nil
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

// agent is the stored form of an agent. Its AutoCompact replaces that of
// fleet.Agent.
type agent struct {
	fleet.Agent
	AutoCompact autoCompact `json:",omitzero"`
}

// autoCompact is the stored form of a hook.AutoCompact.
type autoCompact struct {
	settings
	Models []transcript.WindowRule `json:",omitzero"`
}

// settings is a hook.AutoCompact with the names of the stored fields.
type settings struct {
	Off                     bool        `json:",omitzero"`
	Window, Percent, Output string      `json:",omitzero"`
	Setting                 int64       `json:",omitzero"`
	Models                  hook.Models `json:"-"`
	IdleOff                 bool        `json:",omitzero"`
	IdleMin                 string      `json:",omitzero"`
}

// stored returns the stored form of an agent.
func stored(a *fleet.Agent) agent {
	to := autoCompact{settings: settings(a.AutoCompact)}
	for _, model := range slices.Sorted(maps.Keys(to.settings.Models)) {
		rule := transcript.WindowRule{Model: model, Tokens: to.settings.Models[model]}
		to.Models = append(to.Models, rule)
	}
	return agent{*a, to}
}

// Batch has the changes of one transaction.
type Batch struct {
	Delta  fleet.Delta
	Values []state.Value
	agents []*alerts.AgentState // of the engine, not yet among the values
}

// Encode encodes the engine's agents as values. It is called outside the loop
// before the batch is stored, and may be called again.
func (b *Batch) Encode() {
	for i, a := range b.agents {
		b.put(engineValues+a.Agent, a)
		b.agents[i] = nil // there may be many
	}
	b.agents = nil
}

// Take adds the changes of all parts, and reports whether there are any. Encode
// must be called afterwards.
func (b *Batch) Take(
	f *fleet.Fleet,
	e *alerts.Engine,
	q *outbox.Queue,
	m *rotation.Machine,
	h *HookCounts,
	roots *projects.Folders,
) (any bool) {
	b.Delta, any = f.Take()
	for i := range b.Delta.Agents {
		b.put(agentValues+b.Delta.Agents[i].ID, stored(&b.Delta.Agents[i]))
	}
	for _, id := range b.Delta.Left {
		b.remove(agentValues + id)
	}
	rest, changed := e.Take(func(id string, a *alerts.AgentState) {
		if a == nil {
			b.remove(engineValues + id)
		} else {
			b.agents = append(b.agents, a)
		}
	})
	if changed {
		b.put(engineValue, &rest)
	}
	if q.Take(changes[outbox.Message](b, messageValues)) {
		b.put(queueValue, q.Counters())
	}
	if m.Take(
		changes[rotation.Rotation](b, handoffValues),
		changes[rotation.AgentRecord](b, recordValues),
	) {
		b.put(handoffValue, m.Counters())
	}
	if h.changed {
		h.changed = false
		b.put(hooksValue, h)
	}
	roots.Take(func(path string, remember bool) {
		if remember {
			b.put(rootValues+path, true)
		} else {
			b.remove(rootValues + path)
		}
	})
	return any || len(b.Values)+len(b.agents) > 0
}

// changes returns a function that adds values under a prefix, and removes nil
// values.
func changes[T any](b *Batch, prefix string) func(id string, v *T) {
	return func(id string, v *T) {
		if v == nil {
			b.remove(prefix + id)
		} else {
			b.put(prefix+id, v)
		}
	}
}

// put adds a value, which is plain and can be encoded.
func (b *Batch) put(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err)) // found by the first test
	}
	b.Values = append(b.Values, state.Value{Name: name, Data: data})
}

func (b *Batch) remove(name string) { b.Values = append(b.Values, state.Value{Name: name}) }

// HookCounts counts hooks by event, all unknown ones as OtherHook.
type HookCounts struct {
	By      map[hook.Event]uint64
	changed bool
}

// OtherHook counts all unknown events.
const OtherHook hook.Event = "other"

// Count counts one hook.
func (h *HookCounts) Count(e hook.Event) {
	if !e.Known() {
		e = OtherHook
	}
	if h.By == nil {
		h.By = map[hook.Event]uint64{}
	}
	h.By[e]++
	h.changed = true
}
