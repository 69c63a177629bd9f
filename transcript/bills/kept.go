package bills

import (
	"slices"

	"sm/transcript"
)

// Kept has the bills of a session's newest boundaries, the last one last. Dear
// is the number of consecutive newest compactions with a dear bill, including
// those of earlier sessions of the agent.
type Kept struct {
	List []transcript.Bill
	Dear int
}

const (
	// most is the maximum number of bills kept for a session.
	most = 4
	// compared is the maximum number of newest bills that a bill is compared
	// with.
	compared = 100
	// leastCompared is the minimum number of bills for a comparison.
	leastCompared = 10
)

// With returns the bills with v added, or with v in place of a less complete
// version of it, which is was. ok is false if v changes nothing: it is
// repeated, or based on less data of the previous session.
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

// Dear adds the tokens of a bill to those of the newest bills, and reports
// whether the bill is dear: larger than nine of ten earlier ones.
func Dear(newest []int64, tokens int64) (with []int64, dear bool) {
	sorted := slices.Sorted(slices.Values(newest))
	with = append(slices.Clone(newest[max(0, len(newest)-compared+1):]), tokens)
	return with, tokens > 0 && len(sorted) >= leastCompared && tokens > sorted[len(sorted)*9/10]
}
