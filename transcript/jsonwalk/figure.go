package jsonwalk

import (
	"math"
	"strconv"
)

// MaxFigure is the largest accepted token figure; larger ones, forged or
// broken, are reduced to it, so that no sum can overflow.
const MaxFigure = 1_000_000_000

// IsCount reports whether a member's value begins like a number that is not negative.
func (w *Walker) IsCount(value Text) bool {
	return value.None() && w.Peek()-'0' <= 9
}

// Figure returns a member's value as a token count in 0..1e9, if it is a whole
// number in any spelling. Negative numbers are 0, larger ones 1e9, and all
// other values 0.
func (w *Walker) Figure(value Text) int64 {
	if !value.None() {
		return 0
	}
	// As clients write it, without spaces, and without zeros before it.
	b := w.b
	i := w.i
	n := int64(0)
	for i < len(b) && b[i]-'0' <= 9 && n <= MaxFigure {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	if i > w.i && i < len(b) && (b[i] == ',' || b[i] == '}') &&
		(b[w.i] != '0' || i == w.i+1) {
		w.i = i
		return min(n, MaxFigure)
	}
	v := w.Real(value)
	if v != math.Trunc(v) {
		return 0
	}
	return int64(max(0, min(v, MaxFigure)))
}

// Real returns a member's value if it is a number; the result is infinite if no
// float64 holds it. For any other value it returns 0, and Members skips the
// value.
func (w *Walker) Real(value Text) float64 {
	if c := w.Peek(); !value.None() || c != '-' && c-'0' > 9 {
		return 0
	}
	v, _ := strconv.ParseFloat(string(w.number()), 64) // 0 for an empty text
	return v
}
