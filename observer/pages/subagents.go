package pages

import (
	"io"
	"sync"

	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
	"sm/transcript/claude"
)

const (
	// kindBytes are read of a subagent's transcript to find its kind: it stands in the first reply.
	kindBytes = 64 << 10
	// maxKinds bounds the kinds that are remembered.
	maxKinds = 4096
)

// kinds remembers what clients call the kinds of subagents, by the paths of their transcripts.
type kinds struct {
	mu    sync.Mutex
	known map[string]kind
}

// kind is a name, "" where the first bytes of the transcript did not say.
type kind struct {
	name  string
	bytes int64
}

// of is the kind of a subagent. Its file is read once, and again while it grows without having said.
func (k *kinds) of(a *fleet.Subagent) string {
	k.mu.Lock()
	have, ok := k.known[a.Path]
	k.mu.Unlock()
	if ok && (have.name != "" || have.bytes >= min(a.Bytes, kindBytes)) {
		return have.name
	}
	have = kind{readKind(a.Path), a.Bytes}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxKinds || k.known == nil {
		k.known = map[string]kind{}
	}
	k.known[a.Path] = have
	return have.name
}

func readKind(path string) string {
	f, size, err := curve.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, min(size, kindBytes))
	n, _ := io.ReadFull(f, head) // it may shrink meanwhile: what there is counts
	return claude.SubagentType(head[:n])
}

// Subagents are those of a session as the API gives them. It reads files, and is not for the loop.
func (h *Hub) Subagents(of []fleet.Subagent) (all []api.Subagent) {
	for i := range of {
		a := &of[i]
		x := api.Subagent{ID: a.ID, Type: h.kinds.of(a), PeakTokens: a.Peak, Compactions: a.Compactions}
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
func (h *Hub) subagents(of []fleet.Subagent) (all []webpage.Under) {
	for i := range of {
		a := &of[i]
		x := webpage.Under{
			Name: a.ID, Kind: h.kinds.of(a), Window: a.Window.Tokens, Peak: a.Peak, Compactions: a.Compactions, Seen: int64(curve.Seconds(a.Active)),
		}
		if a.Known {
			x.Tokens = a.Tokens
		}
		all = append(all, x)
	}
	return all
}
