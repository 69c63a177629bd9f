package jsonwalk

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the position of a JSON string in its line, without the quotes; zero for
// none. The Walker has checked its escapes.
type Text struct{ From, To uint32 }

// None reports whether there is no string.
func (t Text) None() bool { return t.From == 0 }

// Bytes returns the decoded string, nil for none. Without escapes, which is the
// usual case, it is a part of the line itself.
func (t Text) Bytes(line []byte) []byte {
	if t.None() {
		return nil
	}
	b := line[t.From:t.To:t.To]
	rest := b[plain(b):]
	if bytes.IndexByte(rest, '\\') < 0 && utf8.Valid(rest) {
		return b
	}
	return unquote(b)
}

// plain returns the length of the prefix of b that is ASCII without
// backslashes.
func plain(b []byte) (n int) {
	for n+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[n:])
		slash := x ^ (ones * '\\')
		if ((slash-ones)&^slash|x)&highs != 0 {
			break // by one of these bytes, as in stringEnd
		}
		n += 8
	}
	for n < len(b) && b[n] != '\\' && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// escapes are the values of two-byte escapes, by their second byte.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote decodes like encoding/json: invalid UTF-8, and halves of surrogate
// pairs, become U+FFFD.
func unquote(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := plain(b)
		out = append(out, b[:n]...)
		b = b[n:]
		switch {
		case n > 0:
		case b[0] != '\\':
			r, size := utf8.DecodeRune(b)
			out = utf8.AppendRune(out, r)
			b = b[size:]
		case b[1] != 'u':
			out = append(out, escapes[b[1]])
			b = b[2:]
		default:
			r := hex4(b[2:])
			b = b[6:]
			if utf16.IsSurrogate(r) && bytes.HasPrefix(b, []byte(`\u`)) {
				if pair := utf16.DecodeRune(r, hex4(b[2:])); pair != utf8.RuneError {
					r = pair
					b = b[6:]
				}
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 16) // the Walker has checked it
	return rune(n)
}

// Lines joins texts by newlines; a single text is returned unchanged.
func Lines(texts [][]byte) []byte {
	if len(texts) == 1 {
		return texts[0]
	}
	return bytes.Join(texts, []byte("\n"))
}

// Texts returns the texts of a message's content, which is a string or an
// array: those of the blocks of the given kind. If kind is "", it returns those
// of all blocks and plain strings.
func Texts(content []byte, kind string) (all [][]byte) {
	var w Walker
	w.Begin(content)
	if w.Peek() == '"' {
		return [][]byte{w.Decode(w.Quoted())}
	}
	for in := w.Enter(Text{}, '['); in && w.Next(']'); {
		var is, text Text
		if w.Peek() == '"' && kind == "" {
			text = w.Quoted()
		}
		for name, value := range w.Members(text) {
			switch string(name) {
			case "type":
				is = value
			case "text":
				text = value
			}
		}
		if !text.None() && (kind == "" || string(w.Decode(is)) == kind) {
			all = append(all, w.Decode(text))
		}
	}
	return all
}
