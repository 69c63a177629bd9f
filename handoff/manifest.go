package handoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxManifest bounds a manifest, in bytes: hundreds of entries take a few hundred KiB.
const maxManifest = 4 << 20

// manifest is what is known of a channel's documents. Members of its JSON that this
// version does not know are kept as they are.
type manifest struct {
	Channel string `json:"channel"`
	// Current is the newest document, nil before the first.
	Current *entry `json:"current,omitempty"`
	// Agents have the newest document of each agent, or the document that it claimed.
	Agents map[string]*entry `json:"agents,omitempty"`
	// Executed have what each agent's last handoff ran with, or what it heard last.
	Executed map[string]*entry `json:"executed,omitempty"`

	unknown map[string]json.RawMessage
}

// entry is one document in a manifest.
type entry struct {
	Document
	unknown map[string]json.RawMessage
}

// errChannel is a manifest of another channel.
var errChannel = errors.New("it is another channel's")

// decodeManifest reads a manifest. Any bytes give a manifest or an error.
func decodeManifest(data []byte, channel string) (*manifest, error) {
	m := &manifest{}
	rest, err := take(data, map[string]any{"channel": &m.Channel, "current": &m.Current, "agents": &m.Agents, "executed": &m.Executed})
	if err != nil {
		return nil, err
	}
	if m.Channel != channel {
		return nil, errChannel
	}
	m.unknown = rest
	for _, all := range []map[string]*entry{m.Agents, m.Executed} {
		maps.DeleteFunc(all, func(_ string, e *entry) bool { return e == nil }) // "agent": null
	}
	return m, nil
}

// take decodes the members of an object that are asked for, by their exact names, and
// returns the others.
func take(data []byte, into map[string]any) (rest map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(data, &rest); err != nil {
		return nil, err
	}
	if rest == nil {
		return nil, errors.New("null is no object")
	}
	for name, target := range into {
		raw, ok := rest[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, target); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		delete(rest, name)
	}
	return rest, nil
}

// members are where an entry's members go.
func (d *Document) members() map[string]any {
	return map[string]any{
		"id": &d.ID, "session_id": &d.SessionID, "agent": &d.Agent, "created_at": &d.CreatedAt, "created_by_pid": &d.CreatedByPID,
		"working_dir": &d.WorkingDir, "type": &d.Type, "status": &d.Status, "original_path": &d.Path, "executed": &d.Executed,
		"claimed_by": &d.ClaimedBy, "claimed_by_session": &d.ClaimedBySession, "claimed_by_pid": &d.ClaimedByPID, "claimed_at": &d.ClaimedAt,
		"consumed_by_pid": &d.ConsumedByPID, "consumed_by_session": &d.ConsumedBySession, "consumed_at": &d.ConsumedAt,
	}
}

func (e *entry) UnmarshalJSON(data []byte) (err error) {
	*e = entry{}
	if e.unknown, err = take(data, e.members()); err != nil {
		return err
	}
	if e.ID == "" {
		return errors.New("an entry without id")
	}
	return nil
}

func (e *entry) MarshalJSON() ([]byte, error) {
	d := e.Document
	d.Channel, d.File, d.Current = "", "", false
	return give(d, e.unknown)
}

func (m *manifest) MarshalJSON() ([]byte, error) {
	type known manifest // which has not this method
	return give((*known)(m), m.unknown)
}

// give writes a struct and, behind its members, the unknown ones.
func give(v any, unknown map[string]json.RawMessage) ([]byte, error) {
	data, err := marshal(v, "")
	if err != nil || len(unknown) == 0 {
		return data, err
	}
	data = data[:len(data)-1]
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		key, err := marshal(name, "")
		if err != nil {
			return nil, err
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		data = append(append(append(data, key...), ':'), unknown[name]...)
	}
	return append(data, '}'), nil
}

// marshal leaves <, > and & as they are: people read manifests.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode writes the manifest as people read it.
func (m *manifest) encode() ([]byte, error) {
	data, err := marshal(m, "  ")
	return append(data, '\n'), err
}

// entries are those of documents that may be given: current, then the agents'.
func (m *manifest) entries() []*entry {
	var all []*entry
	if m.Current != nil {
		all = append(all, m.Current)
	}
	for _, agent := range slices.Sorted(maps.Keys(m.Agents)) {
		all = append(all, m.Agents[agent])
	}
	return all
}

// all are the entries of all documents.
func (m *manifest) all() []*entry {
	all := m.entries()
	for _, agent := range slices.Sorted(maps.Keys(m.Executed)) {
		all = append(all, m.Executed[agent])
	}
	return all
}

// find gives an entry of the document, nil for none.
func (m *manifest) find(id string) *entry {
	for _, e := range m.all() {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// every calls f for the document, wherever the manifest has it.
func (m *manifest) every(id string, f func(*Document)) {
	for _, e := range m.all() {
		if e.ID == id {
			f(&e.Document)
		}
	}
}

// ids are those of all documents that the manifest has.
func (m *manifest) ids() []string {
	var ids []string
	for _, e := range m.all() {
		ids = append(ids, e.ID)
	}
	return ids
}

// What stays in a manifest of documents that nobody will be given any more.
const (
	keepFor    = 30 * 24 * time.Hour
	keepAgents = 500
)

// prune takes out the agents whose documents are expired, the oldest first, and returns them.
func (m *manifest) prune(now time.Time, expiry time.Duration) []string {
	var expired []string
	for agent, e := range m.Agents {
		if e.Status != StatusActive || e.expired(now, expiry) {
			expired = append(expired, agent)
		}
	}
	slices.SortFunc(expired, func(a, b string) int { return m.Agents[a].CreatedAt.Compare(m.Agents[b].CreatedAt) })
	n := max(0, min(len(expired), len(m.Agents)-keepAgents))
	for n < len(expired) && now.Sub(m.Agents[expired[n]].CreatedAt) > keepFor {
		n++
	}
	for _, agent := range expired[:n] {
		delete(m.Agents, agent)
		delete(m.Executed, agent)
	}
	return expired[:n]
}
