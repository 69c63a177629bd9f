package history

import (
	"cmp"
	"math"
	"slices"
)

// NearestRank sorts figures and returns their nearest-rank quantile, nil if
// there are none.
func NearestRank[T cmp.Ordered](figures []T, q float64) *T {
	if len(figures) == 0 {
		return nil
	}
	slices.Sort(figures)
	return &figures[max(0, int(math.Ceil(q*float64(len(figures))))-1)]
}

// Median sorts figures and returns their median, nil if there are none.
func Median[T int64 | float64](figures []T) *T {
	a := NearestRank(figures, 0.5)
	if a == nil {
		return nil
	}
	b := figures[len(figures)/2]
	return new(*a + (b-*a)/2)
}
