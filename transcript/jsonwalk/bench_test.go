package jsonwalk

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkQuotes(b *testing.B) {
	text := []byte(`"` + strings.Repeat(`\tw.depth++\n\tif w.depth > maxDepth {\n\t\treturn fmt.Errorf(\"too deep: %d\\n\", w.depth)\n`, 1000) + `"`)
	for _, plain := range []bool{false, true} {
		b.Run(fmt.Sprintf("plain %v", plain), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				x := quotes{b: text, plain: plain}
				if !x.more() {
					b.Fatal("no string")
				}
			}
		})
	}
}
