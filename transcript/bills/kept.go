package bills

import (
	"slices"

	"sm/transcript"
)

// Kept are the bills of a session's newest boundaries, the last one last. Dear
// counts the newest bills of compactions in a row that were dear, those of the
// agent's sessions before included.
type Kept struct {
	List []transcript.Bill
	Dear int
}

const (
	// most is how many bills of a session are kept.
	most = 4
	// A bill is dear if it is among the largest tenth of the last dearOf bills, and
	// there are at least dearLeast.
	dearOf, dearLeast = 100, 10
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

// Dear adds the tokens of a bill to the newest ones, and reports whether they are
// more than nine of ten of those before.
func Dear(newest []int64, tokens int64) (with []int64, dear bool) {
	sorted := slices.Sorted(slices.Values(newest))
	with = append(slices.Clone(newest[max(0, len(newest)-dearOf+1):]), tokens)
	return with, tokens > 0 && len(sorted) >= dearLeast && tokens > sorted[len(sorted)*9/10]
}
