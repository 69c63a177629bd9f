package jsonwalk

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Text is the position of a JSON string in its line, without the quotes; zero for
// none. The Walker has checked its escapes.
type Text struct{ From, To uint32 }

// None reports that there is no string.
func (t Text) None() bool { return t.From == 0 }

// Bytes gives the decoded string, nil for none: what is not UTF-8, and halves of surrogate
// pairs, become U+FFFD. Without escapes, which is nearly always, it is the line itself.
func (t Text) Bytes(line []byte) []byte {
	if t.None() {
		return nil
	}
	b := line[t.From:t.To:t.To]
	if bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		return b
	}
	var s string
	_ = json.Unmarshal(line[t.From-1:t.To+1], &s) // the Walker has checked it
	return []byte(s)
}

// Lines puts texts below each other; of a single one it is that text.
func Lines(texts [][]byte) []byte {
	if len(texts) == 1 {
		return texts[0]
	}
	return bytes.Join(texts, []byte("\n"))
}

// Texts returns the texts of a message's content: a string, or the blocks of an array that
// are of a kind. With no kind given, blocks of all kinds and plain strings have a text.
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
