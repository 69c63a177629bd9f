package hook

import (
	"slices"
	"strconv"
	"strings"
)

// AtLeast reports whether a client's version, such as 2.1.197, is at least another.
// A version that cannot be parsed is older than any.
func AtLeast(version string, atLeast ...int) bool {
	version, _, _ = strings.Cut(version, "-") // 2.2.0-beta.1 counts as 2.2.0
	var have []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return false
		}
		have = append(have, n)
	}
	return slices.Compare(have, atLeast) >= 0
}
