// Package jsonwalk steps through one JSON text, a line of a transcript, and
// decodes only the requested values.
//
// It accepts the same texts as encoding/json, including the limit of nesting,
// and finds the strings of a text ahead of the walk, with wide instructions if
// the machine has them. It decodes and copies nothing before that is requested,
// so that most of a transcript's bytes are only read once.
//
// Invariants: any bytes are accepted; a text is either JSON to its end or bad,
// and all values of a bad text are invalid; member names must match exactly;
// every figure is in 0..[MaxFigure]. Memory is allocated only to decode a
// string that has escapes.
//
// The package depends on no client: the packages of the clients decide which
// members matter, and interpret them.
package jsonwalk

import (
	"bytes"
	"errors"
	"iter"
	"math"

	"sm/transcript"
)

// MaxDepth is the maximum nesting of values, as in encoding/json.
const MaxDepth = 10000

// Walker steps through one JSON text and decodes only the requested values.
// Once bad is true, the text is not JSON and all values read from it are
// invalid.
type Walker struct {
	i     int
	depth int
	fresh bool // no element of the object or array just entered has been read
	bad   bool
	quotes
}

// Begin resets the walker to the beginning of b. (A composite literal would
// write the positions of the Walker twice.)
func (w *Walker) Begin(b []byte) {
	w.i = 0
	w.depth = 0
	w.fresh = false
	w.bad = false
	w.start(b)
	if uint64(len(b)) > math.MaxUint32 {
		w.fail() // positions have 32 bits; no line is that long
	} else if len(b) > 0 {
		w.more()
	}
}

// Plain disables wide instructions in a walker that has just begun, as on
// machines that lack them.
func (w *Walker) Plain() {
	w.start(w.b)
	w.plain = true
	w.unicode = true
}

// Pos returns the index of the next byte.
func (w *Walker) Pos() int { return w.i }

// End reports whether the text is JSON and only white space is left of it.
func (w *Walker) End() bool { return w.Peek() == 0 && w.i == len(w.b) && !w.bad }

// Raw returns a string as the text writes it, with its escapes; nil for none
// and for an empty one.
func (w *Walker) Raw(t Text) []byte {
	if w.bad || t.From >= t.To {
		return nil
	}
	return w.b[t.From:t.To:t.To]
}

func (w *Walker) fail() {
	w.bad = true
	w.i = len(w.b)
}

func (w *Walker) stop() bool {
	w.fail()
	return false
}

// Peek skips white space and returns the next byte, 0 at the end.
func (w *Walker) Peek() byte {
	if w.i < len(w.b) && w.b[w.i] > ' ' {
		return w.b[w.i]
	}
	return w.peekSpace()
}

func (w *Walker) peekSpace() byte {
	for w.i < len(w.b) {
		c := w.b[w.i]
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
		w.i++
	}
	return 0
}

// Open enters an object or array, whose first byte is the current one.
func (w *Walker) Open() bool {
	w.i++
	w.depth++
	w.fresh = true
	if w.depth > MaxDepth {
		w.fail()
	}
	return !w.bad
}

// Next reports whether the object or array that ends with end has another
// element, and steps over the comma before it, or over the end.
func (w *Walker) Next(end byte) bool {
	first := w.fresh
	w.fresh = false
	c := w.Peek()
	switch {
	case c == end:
		w.i++
		w.depth--
		return false
	case first:
		return c != 0 || w.stop()
	case c == ',':
		w.i++
		if c = w.Peek(); c == end || c == 0 {
			return w.stop()
		}
		return true
	}
	return w.stop()
}

// Member steps to the next member of an object and returns its name. It reads a
// value that is a string; the caller reads other values.
func (w *Walker) Member() (name []byte, value Text, ok bool) {
	k := w.k
	b := w.b
	if k+2 > w.n || k > len(w.q)-4 || w.unicode {
		return w.anyMember()
	}
	// As clients write it, without spaces: {"name": and ,"name":
	q := (*[4]uint32)(w.q[k:])
	start := int(q[0])
	end := int(q[1])
	begins := start == w.i && w.fresh || start == w.i+1 && !w.fresh && b[w.i] == ','
	if !begins || end+2 >= len(b) || b[end+1] != ':' || b[end+2] <= ' ' {
		return w.anyMember()
	}
	next := end + 2
	if b[next] == '"' {
		if k+4 > w.n {
			return w.anyMember()
		}
		value = Text{q[2] + 1, q[3]}
		next = int(q[3]) + 1
		k += 2
	}
	w.fresh = false
	w.i = next
	w.k = k + 2
	return b[start+1 : end], value, true
}

func (w *Walker) anyMember() (name []byte, value Text, ok bool) {
	if w.i < len(w.b) && w.b[w.i] == '}' {
		w.i++
		w.depth--
		w.fresh = false
		return nil, Text{}, false
	}
	if !w.Next('}') || !w.name() {
		return nil, Text{}, false
	}
	t := Text{w.q[w.k-2] + 1, w.q[w.k-1]}
	name = w.b[t.From:t.To]
	if w.unicode && bytes.IndexByte(name, '\\') >= 0 {
		// Of the escapes only \u can spell a letter of a known name.
		name = t.Bytes(w.b)
	}
	if w.Peek() == '"' {
		value = w.Quoted()
	}
	return name, value, !w.bad
}

// name reads a member's name and the colon behind it.
func (w *Walker) name() bool {
	if w.Peek() != '"' {
		return w.stop()
	}
	w.Quoted()
	if w.Peek() != ':' {
		return w.stop()
	}
	w.i++
	return true
}

// Quoted reads the string that begins at the current byte, a quote.
func (w *Walker) Quoted() Text {
	if w.k+2 > w.n && !w.more() {
		w.fail()
		return Text{}
	}
	t := Text{w.q[w.k] + 1, w.q[w.k+1]}
	w.k += 2
	w.i = int(t.To) + 1
	return t
}

// IsTrue reports whether a member's value begins like the literal true.
func (w *Walker) IsTrue(value Text) bool {
	return value.None() && w.Peek() == 't'
}

// Enter reports whether a member's value begins with c ({ or [), and enters it;
// otherwise it skips the value.
func (w *Walker) Enter(value Text, c byte) bool {
	if !value.None() {
		return false
	}
	if w.Peek() == c {
		return w.Open()
	}
	w.Skip()
	return false
}

// Members steps through the members of a value if it is an object, as Member
// does. Values that the loop does not read are skipped.
func (w *Walker) Members(value Text) iter.Seq2[[]byte, Text] {
	return func(yield func([]byte, Text) bool) {
		w.members(value, yield)
	} // small enough to take no memory
}

func (w *Walker) members(value Text, yield func([]byte, Text) bool) {
	if !w.Enter(value, '{') {
		return
	}
	for name, value, in := w.Member(); in; name, value, in = w.Member() {
		at := w.i
		if !yield(name, value) {
			return
		}
		if value.None() && w.i == at {
			w.Skip()
		}
	}
}

// Skip steps over one value of any type.
func (w *Walker) Skip() {
	switch w.Peek() {
	case '"':
		w.Quoted()
	case '{':
		w.Open()
		for _, value, in := w.Member(); in; _, value, in = w.Member() {
			if value.None() {
				w.Skip()
			}
		}
	case '[':
		w.Open()
		for w.Next(']') {
			w.Skip()
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

func (w *Walker) literal(s string) {
	if !bytes.HasPrefix(w.b[w.i:], []byte(s)) {
		w.fail()
		return
	}
	w.i += len(s)
}

// number steps over a number and returns its text.
func (w *Walker) number() []byte {
	start := w.i
	w.accept('-')
	if !w.accept('0') && digits(w) == 0 {
		w.fail()
	}
	if w.accept('.') && digits(w) == 0 {
		w.fail()
	}
	if w.accept('e') || w.accept('E') {
		_ = w.accept('+') || w.accept('-')
		if digits(w) == 0 {
			w.fail()
		}
	}
	if w.bad {
		return nil
	}
	return w.b[start:w.i]
}

// accept steps over c if that is the current byte.
func (w *Walker) accept(c byte) bool {
	ok := w.i < len(w.b) && w.b[w.i] == c
	if ok {
		w.i++
	}
	return ok
}

// digits steps over the digits from w.i on and returns their number.
func digits(w *Walker) (n int) {
	for w.i < len(w.b) && w.b[w.i]-'0' <= 9 {
		w.i++
		n++
	}
	return n
}

// Only returns one string member of an object.
func (w *Walker) Only(value Text, wanted string) (t Text) {
	for name, value := range w.Members(value) {
		if string(name) == wanted {
			t = value
		}
	}
	return t
}

// Span is the position of a value in its line, zero for none.
type Span struct{ From, To int }

// Bytes returns the value in its line, nil for none.
func (s Span) Bytes(line []byte) []byte {
	if s.To == 0 {
		return nil
	}
	return line[s.From:s.To]
}

// Span steps over a member's value and returns its position; that of a string
// includes its quotes.
func (w *Walker) Span(value Text) Span {
	if !value.None() {
		return Span{int(value.From) - 1, int(value.To) + 1}
	}
	w.Peek()
	from := w.i
	w.Skip()
	return Span{from, w.i}
}

// Size steps over a member's value and returns its size in bytes as the line
// writes it, of a string without its quotes.
func (w *Walker) Size(value Text) int64 {
	s := w.Span(value)
	if !value.None() {
		return int64(value.To - value.From)
	}
	return int64(s.To - s.From)
}

// The errors of Record for a line that holds no record.
var (
	// ErrBlank: nothing but white space; not an error in a transcript.
	ErrBlank = errors.New("blank line")
	// ErrNotJSON: not one JSON object; counted as bad and skipped.
	ErrNotJSON = errors.New("not a JSON object")
)

// Count adds a line of n bytes to a session, given the result of Record for it,
// and reports whether the line holds a record.
func Count(s *transcript.Session, n int, err error) bool {
	s.Bytes += int64(n)
	if err != ErrBlank {
		s.Lines++
	}
	if err == ErrNotJSON {
		s.Bad++
	}
	return err == nil
}

// Record calls read to step through the object that must be all of the line.
func Record(w *Walker, read func()) error {
	if w.End() {
		return ErrBlank
	}
	if w.Peek() == '{' {
		if read(); w.End() {
			return nil
		}
	}
	return ErrNotJSON
}
