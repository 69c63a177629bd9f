package transcript

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep values may nest: the limit of encoding/json, whose verdict
// on what is JSON is ours too.
const maxDepth = 10000

// walker steps through one JSON text without decoding what nobody asked for. Once
// bad is set, the text is not JSON and nothing read from it counts.
type walker struct {
	b     []byte
	i     int
	depth int
	bad   bool
}

// text is a JSON string as it stands in the line.
type text struct {
	raw     []byte
	escaped bool
}

// bytes gives the decoded string; nil for none. Without escapes and with valid
// UTF-8, which is nearly always, it is the line itself.
func (t text) bytes() []byte {
	if t.raw == nil || !t.escaped && utf8.Valid(t.raw) {
		return t.raw
	}
	quoted := make([]byte, 0, len(t.raw)+2)
	quoted = append(append(append(quoted, '"'), t.raw...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	return []byte(s)
}

func (w *walker) fail() { w.bad, w.i = true, len(w.b) }

// peek skips white space and returns the next byte, 0 at the end.
func (w *walker) peek() byte {
	for w.i < len(w.b) {
		c := w.b[w.i]
		if c > ' ' || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
		w.i++
	}
	return 0
}

// open enters an object or array; the caller has seen its first byte.
func (w *walker) open() bool {
	w.i++
	w.depth++
	if w.depth > maxDepth {
		w.fail()
	}
	return !w.bad
}

// next reports whether the object or array that ends with end has another
// element, and steps over the comma before it, or over the end.
func (w *walker) next(first bool, end byte) bool {
	c := w.peek()
	switch {
	case c == end:
		w.i++
		w.depth--
		return false
	case first:
		return c != 0 || w.stop()
	case c == ',':
		w.i++
		if c = w.peek(); c == end || c == 0 {
			return w.stop()
		}
		return true
	}
	return w.stop()
}

func (w *walker) stop() bool {
	w.fail()
	return false
}

// member steps to the next member of an object and returns its key.
func (w *walker) member(first bool) (key []byte, ok bool) {
	if !w.next(first, '}') {
		return nil, false
	}
	if w.b[w.i] != '"' {
		return nil, w.stop()
	}
	t := w.quoted()
	if w.peek() != ':' {
		return nil, w.stop()
	}
	w.i++
	if !t.escaped {
		return t.raw, true
	}
	return t.bytes(), !w.bad
}

// quoted reads the string that begins at the current byte, a quote.
func (w *walker) quoted() text {
	start := w.i + 1
	end, escaped := stringEnd(w.b, start)
	if end < 0 {
		w.fail()
		return text{}
	}
	w.i = end + 1
	return text{raw: w.b[start:end:end], escaped: escaped}
}

// str reads a value and returns it if it is a string.
func (w *walker) str() text {
	if w.peek() == '"' {
		return w.quoted()
	}
	w.skip()
	return text{}
}

// isTrue reads a value and reports whether it is the literal true.
func (w *walker) isTrue() bool {
	yes := w.peek() == 't'
	w.skip()
	return yes && !w.bad
}

// enter reports whether the next value begins with c ({ or [), and enters it;
// otherwise it skips the value.
func (w *walker) enter(c byte) bool {
	if w.peek() == c {
		return w.open()
	}
	w.skip()
	return false
}

// skip steps over one value of any type.
func (w *walker) skip() {
	switch c := w.peek(); c {
	case '"':
		w.quoted()
	case '{':
		ok := w.open()
		for first := true; ok; first = false {
			if !w.next(first, '}') {
				return
			}
			if w.b[w.i] != '"' {
				w.fail()
				return
			}
			w.quoted()
			if w.peek() != ':' {
				w.fail()
				return
			}
			w.i++
			w.skip()
		}
	case '[':
		ok := w.open()
		for first := true; ok && w.next(first, ']'); first = false {
			w.skip()
		}
	case 't':
		w.literal("true")
	case 'f':
		w.literal("false")
	case 'n':
		w.literal("null")
	default:
		w.number()
	}
}

func (w *walker) literal(s string) {
	if len(w.b)-w.i < len(s) || string(w.b[w.i:w.i+len(s)]) != s {
		w.fail()
		return
	}
	w.i += len(s)
}

// number steps over a number and returns it as it stands.
func (w *walker) number() []byte {
	start := w.i
	if w.i < len(w.b) && w.b[w.i] == '-' {
		w.i++
	}
	switch {
	case w.i >= len(w.b):
		w.fail()
	case w.b[w.i] == '0':
		w.i++
	case w.digits() == 0:
		w.fail()
	}
	if w.i < len(w.b) && w.b[w.i] == '.' {
		w.i++
		if w.digits() == 0 {
			w.fail()
		}
	}
	if w.i < len(w.b) && (w.b[w.i] == 'e' || w.b[w.i] == 'E') {
		w.i++
		if w.i < len(w.b) && (w.b[w.i] == '+' || w.b[w.i] == '-') {
			w.i++
		}
		if w.digits() == 0 {
			w.fail()
		}
	}
	if w.bad {
		return nil
	}
	return w.b[start:w.i]
}

func (w *walker) digits() (n int) {
	for w.i < len(w.b) && w.b[w.i]-'0' <= 9 {
		w.i++
		n++
	}
	return n
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd finds the quote that ends the string whose first byte is b[i], and
// reports whether an escape came before it; -1 when the string does not end or is
// not JSON.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote, slash := x^(ones*'"'), x^(ones*'\\')
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
			return -1, escaped
		}
		switch c := b[i]; {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				return -1, escaped
			}
			i += n
		case c < ' ':
			return -1, escaped
		default:
			i++ // one of the last seven bytes
		}
	}
}

// escapeLen is the length of the escape sequence at the start of b, 0 if it is
// none.
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
