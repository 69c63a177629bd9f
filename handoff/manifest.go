package handoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sm/handoff/files"
)

// maxManifest limits a manifest, in bytes: hundreds of entries take a few
// hundred KiB.
const maxManifest = 4 << 20

// manifest lists the documents of a channel. Unknown members of its JSON are kept.
type manifest struct {
	Channel string `json:"channel"`
	// Current is the newest document, nil before the first.
	Current *entry `json:"current,omitempty"`
	// Agents has the newest document of each agent, or the document that it
	// claimed.
	Agents map[string]*entry `json:"agents,omitempty"`
	// Executed has the document of each agent's last handoff, or the last
	// document that the agent got.
	Executed map[string]*entry `json:"executed,omitempty"`

	unknown map[string]json.RawMessage
}

// entry is one document in a manifest.
type entry struct {
	Document
	unknown map[string]json.RawMessage
}

// readManifest reads a manifest. Errors wrap fs.ErrNotExist for a missing and
// files.ErrDamaged for a damaged manifest.
func readManifest(path string) (*manifest, error) {
	data, err := files.Read(path, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, files.ErrDamaged, err)
	}
	return m, nil
}

// decodeManifest decodes a manifest. Any input results in a manifest or an
// error.
func decodeManifest(data []byte) (m *manifest, err error) {
	m = &manifest{}
	m.unknown, err = files.Decode(data, m)
	for _, all := range []map[string]*entry{m.Agents, m.Executed} {
		maps.DeleteFunc(
			all,
			func(_ string, e *entry) bool { return e == nil },
		) // "agent": null
	}
	return m, err
}

func (e *entry) UnmarshalJSON(data []byte) (err error) {
	*e = entry{}
	e.unknown, err = files.Decode(data, &e.Document)
	if err == nil && e.ID == "" {
		err = errors.New("an entry without id")
	}
	return err
}

func (e *entry) MarshalJSON() ([]byte, error) { return files.Encode(e.Document, e.unknown) }

// entryOf returns an entry without the fields that [store.document] derives.
func entryOf(d Document) *entry {
	d.Channel = ""
	d.File = ""
	d.Current = false
	return &entry{Document: d}
}

// set stores a document in one of the manifest's maps.
func set(list *map[string]*entry, agent string, d Document) {
	if *list == nil {
		*list = map[string]*entry{}
	}
	(*list)[agent] = entryOf(d)
}

// expire marks active documents that are too old as expired, and reports
// whether there were any.
func (m *manifest) expire(now time.Time, expiry time.Duration) (changed bool) {
	for _, e := range m.entries() {
		if e.Status == StatusActive && e.expired(now, expiry) {
			e.Status = StatusExpired
			changed = true
		}
	}
	return changed
}

// entries returns the entries of documents that may be given.
func (m *manifest) entries() []*entry {
	all := slices.Collect(maps.Values(m.Agents))
	if m.Current != nil {
		all = append(all, m.Current)
	}
	return all
}

// all returns all entries.
func (m *manifest) all() []*entry {
	return slices.AppendSeq(m.entries(), maps.Values(m.Executed))
}

// of returns the entries of a document.
func (m *manifest) of(id string) (list []*entry) {
	for _, e := range m.all() {
		if e.ID == id {
			list = append(list, e)
		}
	}
	return list
}

// ids returns the ids of all entries.
func (m *manifest) ids() []string {
	var ids []string
	for _, e := range m.all() {
		ids = append(ids, e.ID)
	}
	return ids
}

// How long, and for how many agents, documents are kept after they can no
// longer be given.
const (
	keepFor    = 30 * 24 * time.Hour
	keepAgents = 500
)

// prune removes agents whose documents will no longer be given, the oldest
// first.
func (m *manifest) prune(now time.Time, expiry time.Duration) {
	var expired []string
	for agent, e := range m.Agents {
		if e.Status != StatusActive || e.expired(now, expiry) {
			expired = append(expired, agent)
		}
	}
	slices.SortFunc(expired, func(a, b string) int {
		return m.Agents[a].CreatedAt.Compare(m.Agents[b].CreatedAt)
	})
	for _, agent := range expired {
		if len(m.Agents) <= keepAgents && now.Sub(m.Agents[agent].CreatedAt) <= keepFor {
			break
		}
		delete(m.Agents, agent)
		delete(m.Executed, agent)
	}
}
