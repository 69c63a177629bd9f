package bills

import (
	"slices"

	"sm/transcript"
)

// recent holds the newest of many keys in their order. It is searched only
// after boundaries, so that to add is all that must be fast.
type recent struct {
	keys  []transcript.Key
	total int // of all that were added
	taken int // as many of these have been handed out
}

func (r *recent) add(k transcript.Key, most int) {
	if len(r.keys) == most {
		r.keys = r.keys[:copy(r.keys, r.keys[most/2:])]
	}
	r.keys = append(r.keys, k)
	r.total++
}

// first are those of the first n that are not forgotten.
func (r *recent) first(n int) []transcript.Key {
	return r.keys[:max(0, n-(r.total-len(r.keys)))]
}

// take returns the keys added since the last call.
func (r *recent) take() []transcript.Key {
	keys := slices.Clone(r.keys[max(0, len(r.keys)-(r.total-r.taken)):])
	r.taken = r.total
	return keys
}
