package jsonwalk

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ways are the ways to find quotes: with the widest instructions of the machine, with half as
// wide ones, and with none.
func ways() map[string]quotes {
	return map[string]quotes{"wide": {}, "half": {half: true}, "plain": {plain: true}}
}

// positions lists all positions that more finds in b. Each string between them must decode as
// it does alone.
func positions(t *testing.T, b []byte, way quotes) (all []uint32) {
	t.Helper()
	x := way
	x.start(b)
	x.plain = way.plain
	x.half = way.half
	for more := true; more; {
		more = x.more()
		n := x.n
		if more {
			n &^= 1
		}
		all = append(all, x.q[:n]...)
		x.k = n
		for i := 0; i+1 < len(all); i += 2 {
			s := Text{all[i] + 1, all[i+1]}
			if got, want := x.Decode(s), s.Bytes(b); !bytes.Equal(got, want) {
				t.Fatalf(
					"%q: got %q, want %q (clean to %d, and from %d)",
					b,
					got,
					want,
					x.clean,
					x.again,
				)
			}
		}
	}
	return all
}

// defined lists the same positions byte by byte. It ends where the text can no longer be
// JSON; after a backslash outside of strings (loose) the others may continue.
func defined(b []byte) (all []uint32, loose bool) {
	in := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			all = append(all, uint32(i))
			in = !in
		case c == '\\' && !in:
			return all, true
		case c == '\\':
			i++
			if i == len(b) || strings.IndexByte(`"\/bfnrtu`, b[i]) < 0 {
				return all, false
			}
			for n := 0; n < 4 && b[i] == 'u'; n++ {
				if i+n+1 >= len(b) ||
					strings.IndexByte("0123456789abcdefABCDEF", b[i+n+1]) < 0 {
					return all, false
				}
			}
		case c < ' ' && in:
			return all, false
		}
	}
	return all, false
}

func checkQuotes(t *testing.T, b []byte) {
	t.Helper()
	want, loose := defined(b)
	for way, x := range ways() {
		got := positions(t, b, x)
		if loose {
			got = got[:min(len(got), len(want))]
		}
		if !slices.Equal(want, got) {
			t.Fatalf("%s: %q (-want +got):\n%s", way, b, cmp.Diff(want, got))
		}
	}
}

// hits are parts of a string that matter, valid or not.
var hits = []string{
	`"`, `\"`, `\\`, `\\"`, `\\\"`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0aF9`, `\u"`, `\u00g0`, `\u00`, `\`, `\x`, `\U`, `\"\"\\\\"`,
	"\x00", "\x1f", "\n", "\x7f", "\x80", "\xff", "\xa2", "\xdc", strings.Repeat(
		`\`,
		63,
	), strings.Repeat(
		`\`,
		64,
	), strings.Repeat(
		`"`,
		70,
	),
}

func TestQuotesAtEveryPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("uses one goroutine, and is ten times as slow with the race detector")
	}
	buf := make([]byte, 600)
	for n := range 201 {
		for i, hit := range hits {
			for at := range n + 1 {
				b := append(buf[:(n+at+i)%64], '"') // another alignment each time
				start := len(b) - 1
				b = append(
					append(append(b, bytes.Repeat([]byte{'x'}, at)...), hit...),
					bytes.Repeat([]byte{'y'}, n-at)...,
				)
				checkQuotes(t, b[start:])
				checkQuotes(t, append(b, '"')[start:])
			}
		}
	}
}

// TestQuotesBehindEveryEscape tests each byte after a backslash, in any table.
func TestQuotesBehindEveryEscape(t *testing.T) {
	for c := range 256 {
		for _, rest := range []string{"", "0041", "0g41", strings.Repeat("x", 80)} {
			for at := range 66 {
				checkQuotes(
					t,
					slices.Concat(
						[]byte(`"`+strings.Repeat("x", at)+`\`),
						[]byte{byte(c)},
						[]byte(rest+`"`+strings.Repeat(" ", 64)),
					),
				)
			}
		}
	}
}

func TestQuotesInRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 60_000 {
		checkQuotes(t, randomText(r, r.IntN(400)))
	}
	checkQuotes(t, randomText(r, 1<<20))
}

// randomText mixes plain text with hits; most of them are valid, so that a text continues for
// a while.
func randomText(r *rand.Rand, n int) []byte {
	var b []byte
	right := hits[:12]
	for len(b) < n {
		switch p := r.IntN(100); {
		case p < 60:
			b = append(
				b,
				"some plain text, long enough to fill a block of 64 bytes: and more"[r.IntN(60):]...,
			)
		case p < 99:
			b = append(b, right[r.IntN(len(right))]...)
		default:
			b = append(b, hits[r.IntN(len(hits))]...)
		}
	}
	return b[:n]
}

func TestUnquoteIsThatOfJSON(t *testing.T) {
	parts := []string{
		`\ud83d`,
		`\ude00`,
		`\uD83D\uDE00`,
		`\u0000`,
		`\uFFFD`,
		`\"`,
		`\\`,
		`\/`,
		`\b\f\n\r\t`,
		"é",
		"😀",
		"\xff",
		"\xed\xa0\x80",
		"abc",
		"12345678",
	}
	r := rand.New(rand.NewPCG(2, 0))
	for range 50_000 {
		raw := []byte{'"'}
		for range r.IntN(12) {
			raw = append(raw, parts[r.IntN(len(parts))]...)
		}
		raw = append(raw, '"')
		var want string
		err := json.Unmarshal(raw, &want)
		got := Text{1, uint32(len(raw) - 1)}.Bytes(raw)
		if err != nil || want != string(got) {
			t.Fatalf("%s: got %q, want %q", raw, got, want)
		}
	}
}
