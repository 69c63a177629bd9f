package jsonwalk

import (
	"math"
	"strconv"
)

// MaxFigure is the largest token figure believed; forged or broken ones beyond it
// are cut to it, so that no sum can overflow.
const MaxFigure = 1_000_000_000

// IsCount reports whether a member's value begins like a number that is not negative.
func (w *Walker) IsCount(value Text) bool {
	return value.None() && w.Peek()-'0' <= 9
}

// Figure reads a member's value if it is a number and returns it as a token count in 0..1e9:
// whole numbers in any spelling; negative ones are 0, larger ones 1e9, anything else 0.
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

// Real reads a member's value if it is a number, and returns it: infinite if no float64
// holds it. Anything else is 0, and is left for Members to skip.
func (w *Walker) Real(value Text) float64 {
	if c := w.Peek(); !value.None() || c != '-' && c-'0' > 9 {
		return 0
	}
	v, _ := strconv.ParseFloat(string(w.number()), 64) // of nothing, 0
	return v
}
