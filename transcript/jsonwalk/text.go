package jsonwalk

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the position of a JSON string in its line, without the quotes; zero for
// none. The Walker has checked its escapes.
type Text struct{ From, To uint32 }

// None reports that there is no string.
func (t Text) None() bool { return t.From == 0 }

// Bytes gives the decoded string, nil for none. Without escapes and in ASCII, which
// is nearly always, it is the line itself.
func (t Text) Bytes(line []byte) []byte {
	if t.None() {
		return nil
	}
	b := line[t.From:t.To:t.To]
	if simple(line, int(t.From), int(t.To)) || bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		return b
	}
	return unquote(make([]byte, 0, len(b)+8), b)
}

// Raw gives the string as the line writes it, with its escapes; nil for none
// and for an empty one.
func (t Text) Raw(line []byte) []byte {
	if t.From >= t.To {
		return nil
	}
	return line[t.From:t.To:t.To]
}

// simple reports whether line[from:to] is ASCII without backslashes.
func simple(line []byte, from, to int) bool {
	for ; to-from > 8; from += 8 {
		if special8(binary.LittleEndian.Uint64(line[from:])) != 0 {
			return false
		}
	}
	if from+8 <= len(line) {
		x := binary.LittleEndian.Uint64(line[from:])
		return special8(x<<(uint(8-(to-from))*8)) == 0
	}
	for _, c := range line[from:to] {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// special8 marks, at its lowest bit, the first backslash or byte outside ASCII.
func special8(x uint64) uint64 {
	slash := x ^ (ones * '\\')
	return ((slash-ones)&^slash | x) & highs
}

// unquote appends what b means to out, as encoding/json decodes it: what is not
// UTF-8, and halves of surrogate pairs, become U+FFFD.
func unquote(out, b []byte) []byte {
	for len(b) > 0 {
		for len(b) >= 8 && cap(out)-len(out) >= 8 {
			// Eight bytes are written before it is known how many count.
			x := binary.LittleEndian.Uint64(b)
			n := len(out)
			binary.LittleEndian.PutUint64(out[n:n+8:cap(out)], x)
			if m := special8(x); m != 0 {
				k := bits.TrailingZeros64(m) / 8
				out = out[:n+k]
				b = b[k:]
				break
			}
			out = out[:n+8]
			b = b[8:]
		}
		if len(b) > 0 {
			out, b = unquoteOne(out, b)
		}
	}
	return out
}

// unquoteOne decodes the first byte, rune or escape of b.
func unquoteOne(out, b []byte) (longer, rest []byte) {
	if b[0] != '\\' {
		r, n := utf8.DecodeRune(b)
		return utf8.AppendRune(out, r), b[n:]
	}
	if b[1] != 'u' {
		return append(out, plainEscape(b[1])), b[2:]
	}
	r, b := hex4(b[2:]), b[6:]
	if utf16.IsSurrogate(r) {
		low := rune(-1)
		if len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
			low = hex4(b[2:])
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			b = b[6:]
		}
	}
	return utf8.AppendRune(out, r), b
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(t []byte) (r rune) {
	for _, c := range t[:4] {
		if c > '9' {
			c += 9 // the low half of a letter is 1..6
		}
		r = r<<4 | rune(c&0xf)
	}
	return r
}
