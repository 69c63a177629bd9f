package transcripttest

import (
	"bytes"
	"encoding/base64"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// prose is a stock of text that looks like source code, escaped for JSON once, so
// that filling a transcript costs no more than copying.
type prose struct {
	escaped []byte
	starts  []int // where lines begin in escaped
	image   []byte
}

func newProse(rng *rand.Rand, size int, sources bool) *prose {
	var raw []byte
	if sources {
		raw = goSources(size)
	}
	if len(raw) < size {
		raw = invented(rng, raw, size)
	}
	p := &prose{escaped: make([]byte, 0, len(raw)+len(raw)/8)}
	for line := range bytes.Lines(raw) {
		p.starts = append(p.starts, len(p.escaped))
		p.escaped = appendEscaped(p.escaped, string(line))
	}
	return p
}

// take returns about n bytes of escaped text, whole lines; at most the stock.
func (p *prose) take(rng *rand.Rand, n int) []byte {
	if n <= 0 {
		return nil
	}
	last := len(p.escaped) - n
	i := rng.IntN(len(p.starts))
	for i > 0 && p.starts[i] > last {
		i /= 2
	}
	from := p.starts[i]
	// The end is the first line's end past n bytes.
	next, _ := slices.BinarySearch(p.starts[i:], min(from+n, len(p.escaped)))
	if i+next < len(p.starts) {
		return p.escaped[from:p.starts[i+next]]
	}
	return p.escaped[from:]
}

// picture returns n bytes of base64.
func (p *prose) picture(rng *rand.Rand, n int) []byte {
	if p.image == nil {
		noise := make([]byte, 48<<10)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		p.image = []byte(base64.StdEncoding.EncodeToString(noise))
	}
	return bytes.Repeat(p.image, n/len(p.image)+1)[:n]
}

// words returns n invented words as a sentence.
func words(rng *rand.Rand, n int) string {
	all, list := vocabulary(), make([]string, n)
	for i := range list {
		list[i] = pick(rng, all)
	}
	return strings.Join(list, " ")
}

func vocabulary() []string {
	return strings.Fields("parse buffer queue index token fold window reader cursor session value result error context handler " +
		"request batch signal watch offset record message channel worker table entry cache limit margin ratio source target " +
		"naïve größe 関数 état λ état → “quoted” please add check fix rename the when why again all of it")
}

// invented appends made-up code to b until it has size bytes.
func invented(rng *rand.Rand, b []byte, size int) []byte {
	list := vocabulary()
	word := func() string { return list[rng.IntN(40)] }
	for len(b) < size {
		indent := strings.Repeat("\t", rng.IntN(4))
		switch rng.IntN(8) {
		case 0:
			b = append(b, "func "+word()+"(ctx context.Context, "+word()+" string) error {\n"...)
		case 1:
			b = append(b, indent+"if err != nil {\n"+indent+"\treturn fmt.Errorf(\""+word()+" %q: %w\", "+word()+", err)\n"+indent+"}\n"...)
		case 2:
			b = append(b, indent+"// "+words(rng, 4+rng.IntN(9))+".\n"...)
		case 3:
			b = append(b, indent+word()+"["+strconv.Itoa(rng.IntN(4096))+"] = \"C:\\\\"+word()+"\\"+word()+"\"\n"...)
		case 4:
			b = append(b, strconv.Itoa(rng.IntN(9999))+"→"+indent+"{\"usage\": {\"input_tokens\": "+strconv.Itoa(rng.IntN(1<<20))+"}}\n"...)
		case 5:
			b = append(b, indent+"}\n\n"...)
		default:
			b = append(b, indent+word()+" := "+word()+"."+word()+"("+strconv.Itoa(rng.IntN(1000))+", "+word()+")\n"...)
		}
	}
	return b
}

// goSources reads up to size bytes of the Go tree's own sources, none where the
// tree is not present.
func goSources(size int) []byte {
	var b []byte
	for _, pkg := range []string{"net/http", "go/types", "runtime", "crypto/tls", "encoding/json", "reflect", "html/template", "text/template", "strconv", "database/sql", "os", "time"} {
		files, _ := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", pkg, "*.go")) // sorted
		for _, file := range files {
			if len(b) >= size {
				return b[:size]
			}
			if text, err := os.ReadFile(file); err == nil {
				b = append(b, text...)
			}
		}
	}
	return b[:min(len(b), size)]
}
