package bills

import (
	"slices"

	"sm/transcript"
)

// Kept are the bills of a session's newest boundaries, the last one last. Dear is how many of
// the newest compactions in a row had a dear bill, earlier sessions of the agent included.
type Kept struct {
	List []transcript.Bill
	Dear int
}

const (
	// most is how many bills of a session are kept.
	most = 4
	// compared is how many newest bills a bill is compared with.
	compared = 100
	// leastCompared is the smallest number of bills to compare with.
	leastCompared = 10
)

// With returns the bills with a new one, or with a more complete version of one, whose
// earlier version is was. ok is false for a bill without news: a repeated one, or one for
// which less is known of the session before.
func (k Kept) With(v transcript.Bill) (next Kept, was transcript.Bill, ok bool) {
	list := slices.Clone(k.List)
	i := slices.IndexFunc(
		list,
		func(w transcript.Bill) bool { return w.Kind == v.Kind && w.Key == v.Key },
	)
	switch {
	case i >= 0:
		if was = list[i]; v.Replies < was.Replies || v.Rereads < was.Rereads {
			return k, was, false
		}
		list[i] = v
	case len(list) > 0 && v.At < list[len(list)-1].At:
		return k, was, false
	default:
		list = append(list, v)
		list = list[max(0, len(list)-most):]
	}
	return Kept{list, k.Dear}, was, true
}

// Dear adds the tokens of a bill to those of the newest bills, and reports whether the bill is
// dear: larger than nine of ten earlier ones.
func Dear(newest []int64, tokens int64) (with []int64, dear bool) {
	sorted := slices.Sorted(slices.Values(newest))
	with = append(slices.Clone(newest[max(0, len(newest)-compared+1):]), tokens)
	return with, tokens > 0 && len(sorted) >= leastCompared && tokens > sorted[len(sorted)*9/10]
}
