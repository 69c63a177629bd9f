package transcripttest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// prose is a stock of text like source code, encoded as JSON once, so that filling
// a transcript takes no longer than copying.
type prose struct {
	encoded string
	starts  []int // of lines
}

func newProse(rng *rand.Rand, size int) *prose {
	var b strings.Builder
	p := &prose{}
	for b.Len() < size {
		p.starts = append(p.starts, b.Len())
		encoded := quote(invented(rng))
		b.WriteString(encoded[1 : len(encoded)-1])
	}
	p.encoded = b.String()
	return p
}

// take returns about n bytes, from the start of a line to the end of one.
func (p *prose) take(rng *rand.Rand, n int) string {
	n = min(n, len(p.encoded))
	first := rng.IntN(len(p.starts))
	for p.starts[first] > len(p.encoded)-n {
		first /= 2
	}
	for end := first + 1; end < len(p.starts); end++ {
		if p.starts[end]-p.starts[first] >= n {
			return p.encoded[p.starts[first]:p.starts[end]]
		}
	}
	return p.encoded[p.starts[first]:]
}

// words returns n invented words.
func words(rng *rand.Rand, n int) string {
	all := strings.Fields("parse buffer queue index token fold window reader cursor session value " +
		"result error context handler request batch signal watch offset record message channel " +
		"naïve größe 関数 état λ → “quoted” please add check fix rename the when why again")
	list := make([]string, n)
	for i := range list {
		list[i] = pick(rng, all)
	}
	return strings.Join(list, " ")
}

// invented returns a line of made-up code.
func invented(rng *rand.Rand) string {
	indent := strings.Repeat("\t", rng.IntN(4))
	word := words(rng, 1)
	switch rng.IntN(5) {
	case 0:
		return fmt.Sprintf("%sreturn fmt.Errorf(\"%s %%q: %%w\", name, err)\n", indent, word)
	case 1:
		return indent + "// " + words(rng, 4+rng.IntN(9)) + ".\n"
	case 2:
		return fmt.Sprintf(
			"%s%s[%d] = \"C:\\\\%s\\%s\"\n",
			indent,
			word,
			rng.IntN(4096),
			word,
			word,
		)
	case 3: // looks like a usage object
		return fmt.Sprintf(
			"%d→%s{\"usage\": {\"input_tokens\": %d}}\n",
			rng.IntN(9999),
			indent,
			rng.IntN(1<<20),
		)
	}
	return indent + "}\n\n"
}
