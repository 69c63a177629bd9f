package bills

import (
	"slices"

	"sm/transcript"
)

// recent holds the newest of many keys in their order. It is searched only
// after boundaries, so only add must be fast.
type recent struct {
	keys  []transcript.Key
	total int // number of keys added
	taken int // number of these that take has returned
}

func (r *recent) add(k transcript.Key, most int) {
	if len(r.keys) == most {
		r.keys = r.keys[:copy(r.keys, r.keys[most/2:])]
	}
	r.keys = append(r.keys, k)
	r.total++
}

// first returns those of the first n added keys that have not been dropped.
func (r *recent) first(n int) []transcript.Key {
	return r.keys[:max(0, n-(r.total-len(r.keys)))]
}

// take returns the keys added since the last call.
func (r *recent) take() []transcript.Key {
	keys := slices.Clone(r.keys[max(0, len(r.keys)-(r.total-r.taken)):])
	r.taken = r.total
	return keys
}
