package transcripttest

import (
	"math/rand/v2"
	"strconv"
	"time"
	"unicode/utf8"
)

// stamp is how JavaScript writes a time.
const stamp = "2006-01-02T15:04:05.000Z"

// appendQuoted writes s as JSON.stringify does: no escapes but the needed ones.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}

// members builds the members of an object, in order, without its braces.
type members []byte

func (m members) key(k string) members {
	if len(m) > 0 && m[len(m)-1] != '{' && m[len(m)-1] != '[' {
		m = append(m, ',')
	}
	m = append(m, '"')
	m = append(m, k...)
	return append(m, '"', ':')
}

func (m members) str(k, v string) members { return appendQuoted(m.key(k), v) }

// strOrNull writes null for an empty string.
func (m members) strOrNull(k, v string) members {
	if v == "" {
		return m.raw(k, "null")
	}
	return m.str(k, v)
}

func (m members) num(k string, v int64) members { return strconv.AppendInt(m.key(k), v, 10) }

func (m members) flag(k string, v bool) members { return strconv.AppendBool(m.key(k), v) }

func (m members) raw(k, v string) members { return append(m.key(k), v...) }

// quoted writes a string that is escaped already.
func (m members) quoted(k string, escaped []byte) members {
	m = append(m.key(k), '"')
	m = append(m, escaped...)
	return append(m, '"')
}

func (m members) time(k string, t time.Time) members {
	m = append(m.key(k), '"')
	m = t.UTC().AppendFormat(m, stamp)
	return append(m, '"')
}

func (m members) open(k string) members { return append(m.key(k), '{') }

func (m members) shut() members { return append(m, '}') }

// whole is the object.
func (m members) whole() []byte { return append(append([]byte{'{'}, m...), '}') }

// newUUID draws a random uuid, version 4.
func newUUID(rng *rand.Rand) string {
	const hex = "0123456789abcdef"
	var b [36]byte
	hi, lo := rng.Uint64(), rng.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	n := 0
	for i := range b {
		switch i {
		case 8, 13, 18, 23:
			b[i] = '-'
			continue
		}
		word := hi
		if n >= 16 {
			word = lo
		}
		b[i] = hex[word>>(60-4*(n%16))&15]
		n++
	}
	return string(b[:])
}

// newID draws an id as the API makes them: a prefix and 22 letters and digits.
func newID(rng *rand.Rand, prefix string) string {
	const letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	return newWord(rng, prefix, letters, 22)
}

func newHex(rng *rand.Rand, prefix string, n int) string {
	return newWord(rng, prefix, "0123456789abcdef", n)
}

func newWord(rng *rand.Rand, prefix, letters string, n int) string {
	b := make([]byte, 0, 40)
	b = append(b, prefix...)
	for range n {
		b = append(b, letters[rng.IntN(len(letters))])
	}
	return string(b)
}
