// Package jsonedit edits a JSON text in place: it puts and removes values by
// their path, and all other bytes stay as they are.
//
// Invariants: the text is JSON before and after each edit. A text with a comment,
// or with the same key twice in one object, is refused with the line of the
// mistake. A new value takes the indentation, line ends and spacing of the text
// around it.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sm/dashboards/screen/plain"
)

// A Text is a JSON text that is edited in place. A path has a key for each step:
// the name of a member, or the index of an element.
type Text struct {
	Bytes []byte
	Root  *Value
	twice error // about the first key that occurs twice in one object
}

// A Value is a value of a text. It is valid until the next edit.
type Value struct {
	Key      string // the name of a member, or the index of an element
	Raw      []byte
	from     int // the offset of the name, or of the element
	From, to int // Raw is text[From:to]
	Children []*Value
}

// Parse parses a text. Errors begin with the line. A key that occurs twice in
// one object is an error: clients differ in which of the two they use.
func Parse(text []byte) (*Text, error) {
	d := &Text{Bytes: text}
	err := json.Unmarshal(text, new(json.RawMessage))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(max(int(syntax.Offset)-1, 0), len(text))
		if at < len(text) && strings.IndexByte("/#", text[at]) >= 0 {
			err = errors.New("a comment, which JSON does not have")
		}
		return nil, fmt.Errorf("line %d: %w", d.Line(at), err)
	}
	return d, d.parse()
}

// Line returns the number of the line with the byte at an offset.
func (d *Text) Line(at int) int { return 1 + bytes.Count(d.Bytes[:at], []byte("\n")) }

// parse reads a text that is valid JSON.
func (d *Text) parse() error {
	tokens := json.NewDecoder(bytes.NewReader(d.Bytes))
	tokens.UseNumber() // no number is too large
	d.Root = d.value(tokens)
	return d.twice
}

// next returns the offset of the next token, after white space, comma and
// colon.
func (d *Text) next(tokens *json.Decoder) int {
	rest := d.Bytes[tokens.InputOffset():]
	return len(d.Bytes) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
}

func (d *Text) value(tokens *json.Decoder) *Value {
	v := &Value{From: d.next(tokens)}
	token, _ := tokens.Token()
	if _, composite := token.(json.Delim); composite {
		d.children(v, tokens, token == json.Delim('{'))
	}
	v.to = int(tokens.InputOffset())
	v.Raw = d.Bytes[v.From:v.to]
	return v
}

// children reads the children of v, up to and including its closing bracket.
func (d *Text) children(v *Value, tokens *json.Decoder, object bool) {
	seen := map[string]bool{}
	for tokens.More() {
		key := strconv.Itoa(len(v.Children))
		from := d.next(tokens)
		if object {
			name, _ := tokens.Token()
			key = name.(string)
			if seen[key] && d.twice == nil {
				d.twice = fmt.Errorf("line %d: %s is there twice in one object",
					d.Line(from), plain.Quote(key))
			}
			seen[key] = true
		}
		c := d.value(tokens)
		c.Key = key
		c.from = from
		v.Children = append(v.Children, c)
	}
	_, _ = tokens.Token()
}

// IsObject reports whether v is an object.
func (v *Value) IsObject() bool { return v != nil && v.Raw[0] == '{' }

// IsArray reports whether v is an array.
func (v *Value) IsArray() bool { return v != nil && v.Raw[0] == '[' }

// IsTrue reports whether v is true.
func (v *Value) IsTrue() bool { return v != nil && v.Raw[0] == 't' }

// Text returns the value of a string.
func (v *Value) Text() (text string, ok bool) {
	if v == nil || v.Raw[0] != '"' {
		return "", false
	}
	ok = json.Unmarshal(v.Raw, &text) == nil
	return text, ok
}

// Texts returns the strings of an array; ok is false for any other value.
func (v *Value) Texts() (list []string, ok bool) {
	ok = v.IsArray() && json.Unmarshal(v.Raw, &list) == nil
	return list, ok
}

// Items returns the members of an object or the elements of an array, none of any other value.
func (v *Value) Items() []*Value {
	if v == nil {
		return nil
	}
	return v.Children
}

// At returns the value at a path inside v, nil if there is none.
func (v *Value) At(path ...string) *Value {
	for _, key := range path {
		i := v.index(key)
		if i < 0 {
			return nil
		}
		v = v.Children[i]
	}
	return v
}

// index returns the index of a child, -1 for none.
func (v *Value) index(key string) int {
	return slices.IndexFunc(v.Items(), func(c *Value) bool { return c.Key == key })
}

// At returns the value at a path, nil if there is none.
func (d *Text) At(path ...string) *Value { return d.Root.At(path...) }

// Put sets the value at a path. A new one becomes the last of its container, which
// must be an object or an array. An equal string keeps its spelling.
func (d *Text) Put(value any, path ...string) {
	last := len(path) - 1
	container := d.At(path[:last]...)
	if old := container.At(path[last]); old != nil {
		if text, ok := old.Text(); ok && text == value {
			return
		}
		wide := bytes.Contains(old.Raw, []byte("\n"))
		d.splice(old.From, old.to, d.format(value, d.indentOf(old.From), wide))
		return
	}
	var name string
	if container.IsObject() {
		name = d.format(path[last], "", false) + d.colon()
	}
	if len(container.Children) == 0 {
		d.putFirst(container, name, value)
		return
	}
	before := container.Children[len(container.Children)-1]
	space := d.spaceBefore(before.from)
	lineEnd := strings.LastIndex(space, "\n")
	d.splice(before.to, before.to, ","+space+name+d.format(value, space[lineEnd+1:], lineEnd >= 0))
}

// putFirst puts a value into an empty container.
func (d *Text) putFirst(container *Value, name string, value any) {
	from := container.From + 1
	to := container.to - 1
	// A text that is on one line stays on one line, unless it is empty.
	if d.Root != container && !bytes.Contains(bytes.TrimSpace(d.Bytes), []byte("\n")) {
		d.splice(from, to, name+d.format(value, "", false))
		return
	}
	outer := d.newline() + d.indentOf(container.From)
	inner := d.indentOf(container.From) + d.unit()
	d.splice(from, to, d.newline()+inner+name+d.format(value, inner, true)+outer)
}

// Remove removes the value at a path, if there is one.
func (d *Text) Remove(path ...string) {
	last := len(path) - 1
	container := d.At(path[:last]...)
	i := container.index(path[last])
	if i < 0 {
		return
	}
	all := container.Children
	switch {
	case len(all) == 1:
		d.splice(container.From+1, container.to-1, "")
	case i == len(all)-1:
		d.splice(all[i-1].to, all[i].to, "")
	default:
		d.splice(all[i].from, all[i+1].from, "")
	}
}

// splice replaces text[from:to].
func (d *Text) splice(from, to int, with string) {
	d.Bytes = slices.Concat(d.Bytes[:from], []byte(with), d.Bytes[to:])
	if !json.Valid(d.Bytes) || d.parse() != nil {
		panic("an edit has left no JSON")
	}
}

// format encodes a value with the line ends of the text: on several lines with
// its indentation if wide is true, else on one line.
func (d *Text) format(value any, indent string, wide bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if wide {
		e.SetIndent(indent, d.unit())
	}
	_ = e.Encode(value) // strings, and lists and structs of them
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.newline())
}

// colon returns the separator of the first member of the text.
func (d *Text) colon() string {
	if len(d.Root.Children) > 0 {
		first := d.Root.Children[0]
		if bytes.HasSuffix(d.Bytes[first.from:first.From], []byte(":")) {
			return ":"
		}
	}
	return ": "
}

// spaceBefore returns the white space that ends at an offset.
func (d *Text) spaceBefore(at int) string {
	return string(d.Bytes[len(bytes.TrimRight(d.Bytes[:at], " \t\r\n")):at])
}

// indentOf returns the white space at the beginning of a line.
func (d *Text) indentOf(at int) string {
	line := d.Bytes[bytes.LastIndexByte(d.Bytes[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit returns one step of indentation.
func (d *Text) unit() string {
	if len(d.Root.Children) > 0 {
		space := d.spaceBefore(d.Root.Children[0].from)
		if i := strings.LastIndex(space, "\n"); i >= 0 && i+1 < len(space) {
			return space[i+1:]
		}
	}
	return "  "
}

func (d *Text) newline() string {
	if bytes.Contains(d.Bytes, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
