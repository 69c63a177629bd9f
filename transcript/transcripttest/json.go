package transcripttest

import (
	"encoding/binary"
	"encoding/hex"
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
	const digits = "0123456789abcdef"
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = utf8.AppendRune(b, c)
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

func (m members) timestamp(t time.Time) members {
	m = append(m.key("timestamp"), '"')
	m = t.UTC().AppendFormat(m, stamp)
	return append(m, '"')
}

func (m members) open(k string) members { return append(m.key(k), '{') }

func (m members) shut() members { return append(m, '}') }

// whole is the object.
func (m members) whole() []byte { return append(append([]byte{'{'}, m...), '}') }

// newUUID draws a random uuid, version 4.
func newUUID(rng *rand.Rand) string {
	hi, lo := rng.Uint64(), rng.Uint64()
	b := binary.BigEndian.AppendUint64(nil, hi&^0xf000|0x4000)
	text := hex.EncodeToString(binary.BigEndian.AppendUint64(b, lo&^(3<<62)|2<<62))
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
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
	b := []byte(prefix)
	for range n {
		b = append(b, letters[rng.IntN(len(letters))])
	}
	return string(b)
}
