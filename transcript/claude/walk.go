package claude

import (
	"bytes"
	"math"
)

// maxDepth is how deep values may nest: the limit of encoding/json, whose verdict
// on what is JSON is ours too.
const maxDepth = 10000

// walker steps through one JSON text without decoding what nobody asked for. Once
// bad is set, the text is not JSON and nothing read from it counts.
type walker struct {
	i     int
	depth int
	fresh bool // the object or array that has just been entered has shown nothing yet
	bad   bool
	quotes
}

// begin sets out at the start of b. (Making a walker in one expression would write
// its positions twice.)
func (w *walker) begin(b []byte) {
	w.b = b
	if uint64(len(b)) > math.MaxUint32 {
		w.fail() // positions have 32 bits; no machine holds such a line
	}
}

func (w *walker) fail() { w.bad, w.i = true, len(w.b) }

func (w *walker) stop() bool {
	w.fail()
	return false
}

// peek skips white space and returns the next byte, 0 at the end.
func (w *walker) peek() byte {
	if w.i < len(w.b) && w.b[w.i] > ' ' {
		return w.b[w.i]
	}
	return w.peekSpace()
}

func (w *walker) peekSpace() byte {
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
	w.fresh = true
	if w.depth > maxDepth {
		w.fail()
	}
	return !w.bad
}

// next reports whether the object or array that ends with end has another
// element, and steps over the comma before it, or over the end.
func (w *walker) next(end byte) bool {
	first := w.fresh
	w.fresh = false
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

// member steps to the next member of an object and returns its name. A value that
// is a string is read too; others are left to be read.
func (w *walker) member() (name []byte, value text, ok bool) {
	k := w.k
	if k+4 > w.n || w.fresh || w.unicode {
		return w.anyMember()
	}
	// As clients write it, without spaces: ,"name":
	start, end := int(w.q[k]), int(w.q[k+1])
	if start != w.i+1 || end+2 >= len(w.b) || w.b[w.i] != ',' || w.b[end+1] != ':' || w.b[end+2] <= ' ' {
		return w.anyMember()
	}
	name = w.b[start+1 : end]
	w.i, w.k = end+2, k+2
	if w.b[end+2] == '"' {
		value = text{w.q[k+2] + 1, w.q[k+3]}
		w.i, w.k = int(value.to)+1, k+4
	}
	return name, value, true
}

func (w *walker) anyMember() (name []byte, value text, ok bool) {
	if !w.next('}') || !w.name() {
		return nil, text{}, false
	}
	t := text{w.q[w.k-2] + 1, w.q[w.k-1]}
	name = w.b[t.from:t.to]
	if w.unicode && bytes.IndexByte(name, '\\') >= 0 {
		// Of the escapes only \u can spell a letter of a known name.
		name = t.bytes(w.b)
	}
	if w.peek() == '"' {
		value = w.quoted()
	}
	return name, value, !w.bad
}

// name reads a member's name and the colon behind it.
func (w *walker) name() bool {
	if w.peek() != '"' {
		return w.stop()
	}
	w.quoted()
	if w.peek() != ':' {
		return w.stop()
	}
	w.i++
	return true
}

// quoted reads the string that begins at the current byte, a quote.
func (w *walker) quoted() text {
	if w.k+2 > w.n && !w.more() {
		w.fail()
		return text{}
	}
	t := text{w.q[w.k] + 1, w.q[w.k+1]}
	w.k += 2
	w.i = int(t.to) + 1
	return t
}

// str returns a member's value if it is a string, and else skips it.
func (w *walker) str(value text) text {
	if value.none() {
		w.skip()
	}
	return value
}

// element reads an element of an array and returns it if it is a string.
func (w *walker) element() text {
	if w.peek() == '"' {
		return w.quoted()
	}
	w.skip()
	return text{}
}

// isTrue reports whether a member's value is the literal true.
func (w *walker) isTrue(value text) bool {
	if !value.none() {
		return false
	}
	yes := w.peek() == 't'
	w.skip()
	return yes && !w.bad
}

// enter reports whether a member's value begins with c ({ or [), and enters it;
// otherwise it skips the value.
func (w *walker) enter(value text, c byte) bool {
	if !value.none() {
		return false
	}
	if w.peek() == c {
		return w.open()
	}
	w.skip()
	return false
}

// skip steps over one value of any type.
func (w *walker) skip() {
	switch w.peek() {
	case '"':
		w.quoted()
	case '{', '[':
		w.nested()
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

// nested steps over an object or array.
func (w *walker) nested() {
	level := 0
	objects := uint64(0) // a bit for each level, the innermost lowest
	for {
		switch c := w.peek(); {
		case c == '"':
			w.quoted()
		case c|0x20 != '{' || level == 64:
			w.skip() // deeper still: with bits of its own
		case !w.open():
			return
		default:
			w.fresh = false
			level++
			objects = objects<<1 | uint64(c>>5&1)
			if w.peek() != c+2 {
				if c == '{' && !w.name() {
					return
				}
				continue
			}
		}
		for { // behind a value, or before the end of what is empty
			c := w.peek()
			if c == ']'|byte(objects&1)<<5 {
				w.i++
				w.depth--
				objects >>= 1
				if level--; level == 0 {
					return
				}
				continue
			}
			if c != ',' {
				w.fail()
				return
			}
			w.i++
			if objects&1 == 1 && !w.name() {
				return
			}
			break
		}
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
