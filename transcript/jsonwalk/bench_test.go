package jsonwalk

import (
	"strings"
	"testing"
)

func BenchmarkQuotes(b *testing.B) {
	text := []byte(`"` + strings.Repeat(
		`\tw.depth++\n\tif w.depth > maxDepth {\n\t\treturn fmt.Errorf(\"too deep: %d\\n\", w.depth)\n`,
		1000,
	) + `"`)
	for way, x := range ways() {
		b.Run(way, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				x := x
				if x.b = text; !x.more() {
					b.Fatal("no string")
				}
			}
		})
	}
}
