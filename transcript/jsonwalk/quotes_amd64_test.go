//go:build !purego

package jsonwalk

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestQuotesStayFast tests that valid text never leaves the wide instructions.
func TestQuotesStayFast(t *testing.T) {
	if !avx2 {
		t.Skip("no AVX2")
	}
	right := []string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0aF9`, "é", "plain"}
	r := rand.New(rand.NewPCG(4, 0))
	for range 20_000 {
		b := []byte(`["` + strings.Repeat("x", r.IntN(130)))
		for range r.IntN(40) {
			b = append(b, right[r.IntN(len(right))]...)
		}
		b = append(b, `"]`+strings.Repeat(" ", 64)...)
		for way, x := range ways() {
			slow := x.plain
			x.b = b
			if x.more(); x.plain != slow {
				t.Fatalf("%s: gave up at %d of %q", way, x.at, b)
			}
		}
	}
}
