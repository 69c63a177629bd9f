package jsonwalk

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// room is the number of positions of quotes that are searched at a time. It
// suffices for most lines, and takes little memory to be cleared where a Walker
// is made. The last block can add 64 more.
const room = 128

// quotes finds the beginnings and ends of the strings in a JSON text, ahead of
// the Walker, and checks their content. Wide instructions do this for a
// complete line far faster than for one string after another.
//
// Positions come in pairs, of an opening and a closing quote. They are valid as
// long as the text between the strings is JSON, which the Walker checks: it
// stops at the first invalid byte. An invalid string has no closing quote here.
type quotes struct {
	b       []byte
	at      int    // how far b has been searched
	escaped uint64 // 1 when a backslash escapes b[at]
	k, n    int    // q[k:n] are the positions not yet used
	plain   bool   // continue without wide instructions
	half    bool   // use only those of 32 bytes
	unicode bool   // there may be an escape \u before at
	// b[:clean] and b[again:], as far as they have been searched, are ASCII
	// without backslashes.
	clean, again uint32
	q            [room + 64]uint32
}

// start resets everything except the positions: clearing them takes time, and n
// is the number of valid ones.
func (x *quotes) start(b []byte) {
	x.b = b
	x.at = 0
	x.escaped = 0
	x.k = 0
	x.n = 0
	x.plain = false
	x.half = false
	x.unicode = false
	x.clean = math.MaxUint32
	x.again = 0
}

// Decode returns a decoded string of the text, nil for none. Most strings are
// known to have nothing to decode.
func (x *quotes) Decode(t Text) []byte {
	if t.To > x.clean && t.From < x.again || t.None() {
		return t.Bytes(x.b)
	}
	return x.b[t.From:t.To:t.To]
}

// more finds further positions, and reports whether there is another pair.
func (x *quotes) more() bool {
	x.n = copy(x.q[:], x.q[x.k:x.n])
	x.k = 0
	if !x.plain && !x.fillFast() {
		x.plain = true
		x.unicode = true
		x.at -= int(x.escaped) // fill must begin at the backslash of an escape
	}
	if x.plain {
		x.clean = 0
		x.again = math.MaxUint32 // any string may need decoding
		x.fill()
	}
	return x.n >= 2
}

// fill finds positions until there are room of them or b ends.
func (x *quotes) fill() {
	for x.n < room {
		end := -1
		if x.n%2 == 1 {
			end = stringEnd(x.b, x.at)
		} else if i := bytes.IndexByte(x.b[x.at:], '"'); i >= 0 {
			end = x.at + i
		}
		if end < 0 {
			x.at = len(x.b)
			return
		}
		x.q[x.n] = uint32(end)
		x.n++
		x.at = end + 1
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd returns the index of the quote that ends the string whose first
// byte is b[i]. It reads eight bytes at a time, and returns -1 if the string
// does not end or is not JSON.
func stringEnd(b []byte, i int) int {
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote := x ^ (ones * '"')
			slash := x ^ (ones * '\\')
			// The lowest bit set marks the first quote, backslash or control
			// character: borrows only spoil bytes above a true hit.
			m := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return -1
			}
			i += n
		case c < ' ':
			return -1
		default:
			i++ // one of the last seven bytes
		}
	}
}

// escapeLen returns the length of the escape sequence at the start of b, 0 if
// it is invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if c-'0' > 9 && c|0x20-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}
