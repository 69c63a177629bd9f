package history

import (
	"cmp"
	"math"
)

// NearestRank is the nearest-rank quantile of sorted figures.
func NearestRank[T cmp.Ordered](sorted []T, q float64) T {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Median is the median of sorted figures.
func Median[T int64 | float64](sorted []T) T {
	a := sorted[(len(sorted)-1)/2]
	b := sorted[len(sorted)/2]
	return a + (b-a)/2
}
