package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	errNotObject = errors.New("not a JSON object")
	errCut       = errors.New("the JSON object is not complete")
	errSyntax    = errors.New("broken JSON")
	errTrailing  = errors.New("something follows the JSON object")
)

// Members calls f with each member of the JSON object in data, in their order. Values
// are raw and, but for the places of quotes and brackets, unchecked: a tool's
// megabyte of output is skipped, not parsed. Who uses a value decodes it. The codecs of
// other clients, whose payloads have members of their own, use it too.
func Members(data []byte, f func(key string, value []byte)) error {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return errNotObject
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return trailing(data, i+1)
	}
	for {
		if i == len(data) {
			return errCut
		}
		if data[i] != '"' {
			return errSyntax
		}
		end := endOfString(data, i)
		if end < 0 {
			return errCut
		}
		key, ok := keyOf(data[i:end])
		if i = skipSpace(data, end); !ok || i < len(data) && data[i] != ':' {
			return errSyntax
		}
		if i = skipSpace(data, min(i+1, len(data))); i == len(data) {
			return errCut
		}
		end = endOfValue(data, i)
		if end < 0 {
			return errCut
		}
		if end == i {
			return errSyntax
		}
		f(key, data[i:end])
		if i = skipSpace(data, end); i == len(data) {
			return errCut
		}
		switch data[i] {
		case '}':
			return trailing(data, i+1)
		case ',':
			i = skipSpace(data, i+1)
		default:
			return errSyntax
		}
	}
}

func trailing(data []byte, i int) error {
	if skipSpace(data, i) < len(data) {
		return errTrailing
	}
	return nil
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// keyOf decodes a name with its quotes.
func keyOf(raw []byte) (string, bool) {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), true
	}
	var key string
	err := json.Unmarshal(raw, &key)
	return key, err == nil
}

// endOfString gives the place after the string that begins at i, -1 without an end.
func endOfString(data []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		slashes := 0
		for quote-slashes > from && data[quote-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}

// endOfValue gives the place after the value that begins at i, i itself when there is
// none, and -1 when it has no end.
func endOfValue(data []byte, i int) int {
	switch data[i] {
	case '"':
		return endOfString(data, i)
	case '{', '[':
		return endOfBrackets(data, i)
	}
	for end := i; end < len(data); end++ {
		if c := data[end]; isSpace(c) || c == ',' || c == '}' || c == ']' {
			return end
		}
	}
	return -1
}

// endOfBrackets counts and does not descend, so that no depth is too deep.
func endOfBrackets(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = endOfString(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// A Frame finds the end of a JSON object in a stream whose sender may never close it.
// The zero value is ready.
type Frame struct {
	depth           int
	quoted, escaped bool
}

// Feed takes the next bytes and says how many of them belong to the object, and
// whether it is complete. What does not begin like an object is complete at once:
// there is nothing to wait for.
func (f *Frame) Feed(p []byte) (n int, done bool) {
	for i, c := range p {
		switch {
		case f.escaped:
			f.escaped = false
		case f.quoted:
			f.escaped = c == '\\'
			f.quoted = c != '"'
		case c == '"' && f.depth > 0:
			f.quoted = true
		case c == '{', c == '[' && f.depth > 0:
			f.depth++
		case f.depth == 0:
			if !isSpace(c) {
				return i, true
			}
		case c == '}', c == ']':
			if f.depth--; f.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(p), false
}

// decode reads an object by a method of to; one that is broken, or none, leaves nothing there.
func decode[T any](to *T, raw []byte, set func(key string, raw []byte)) error {
	*to = *new(T)
	err := Members(raw, set)
	if err != nil {
		*to = *new(T)
	}
	return err
}

// The decoders of values. Each leaves what it is given at zero when the value is of
// another type or out of bounds.

// Word reads a name, an id or a path: one that is longer than limit bytes or holds control characters is none.
func Word(raw []byte, limit int) string {
	s, ok := stringOf(raw)
	if !ok || len(s) > limit || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return s
}

// text reads a text and cuts it to limit bytes.
func text(raw []byte, limit int) string {
	s, _ := stringOf(raw)
	return cut(s, limit)
}

func stringOf(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if end := len(raw) - 1; end > 0 && raw[end] == '"' && isPlain(raw[1:end]) {
		return string(raw[1:end]), true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// cut shortens s to at most limit bytes, between two characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func boolean(raw []byte) (yes, ok bool) {
	yes = string(raw) == "true"
	return yes, yes || string(raw) == "false"
}

// numberOf reads a number from 0 to 1e15, beyond which a float64 is no longer exact.
func numberOf(raw []byte) (n float64, ok bool) {
	if len(raw) == 0 || raw[0] < '0' || raw[0] > '9' || !json.Valid(raw) {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && n <= 1e15
}

// Whole reads a whole number from 0 to 1e15, however it is spelled: 33000, 33000.0, 3.3e4.
func Whole(raw []byte) (int64, bool) {
	n, ok := numberOf(raw)
	return int64(n), ok && n == math.Trunc(n)
}

// known is a pointer to a value, nil for none.
func known[T any](value T, ok bool) *T {
	if !ok {
		return nil
	}
	return &value
}

// instant reads a time; one that nanoseconds since 1970 cannot hold is none.
func instant(raw []byte) time.Time {
	at, err := time.Parse(time.RFC3339Nano, Word(raw, 64))
	if at = at.UTC(); err != nil || at.Year() < 1970 || at.Year() > 2261 {
		return time.Time{}
	}
	return at
}
