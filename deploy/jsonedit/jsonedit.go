package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sm/dashboards/screen/plain"
)

// A Text is a JSON text that is changed in place: what no change is about keeps every byte, spelling and order.
// Places are named by paths: members by their key, elements by their number.
type Text struct {
	Bytes []byte
	Root  *Value
}

// A Value is a value and where it stands: text[from:to]. Its first byte says what it is.
type Value struct {
	Raw      []byte
	From, to int
	Children []Child
}

// A Child is a member of an object, or an element of an array, which has no key. It stands at text[from:value.to].
type Child struct {
	Key   string
	from  int
	Value *Value
}

// Parse takes a text apart. Errors begin with the line. A key that stands twice is one of them: which of the
// two the client would go by, and would keep, is anybody's guess.
func Parse(text []byte) (*Text, error) {
	d := &Text{Bytes: text}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, d.broken(err)
	}
	return d, d.parse()
}

func (d *Text) parse() (err error) {
	p := &parser{d, json.NewDecoder(bytes.NewReader(d.Bytes))}
	p.tokens.UseNumber() // no number is too large
	d.Root, err = p.value()
	return err
}

func (d *Text) broken(err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	at := min(max(int(syntax.Offset)-1, 0), len(d.Bytes))
	if rest := d.Bytes[at:]; bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")) {
		return fmt.Errorf("line %d: a comment, which JSON does not have", d.Line(at))
	}
	return fmt.Errorf("line %d: %w", d.Line(at), err)
}

func (d *Text) Line(at int) int { return 1 + bytes.Count(d.Bytes[:at], []byte("\n")) }

// parser walks through a text that is known to be right.
type parser struct {
	d      *Text
	tokens *json.Decoder
}

// next is where the next token begins: after white space, comma and colon.
func (p *parser) next() int {
	at := int(p.tokens.InputOffset())
	return len(p.d.Bytes) - len(bytes.TrimLeft(p.d.Bytes[at:], " \t\r\n,:"))
}

func (p *parser) value() (*Value, error) {
	v := &Value{From: p.next()}
	if token, _ := p.tokens.Token(); token == json.Delim('{') || token == json.Delim('[') {
		if err := p.inside(v, token == json.Delim('{')); err != nil {
			return nil, err
		}
	}
	v.to = int(p.tokens.InputOffset())
	v.Raw = p.d.Bytes[v.From:v.to]
	return v, nil
}

// inside reads the children of an object or array, and its end.
func (p *parser) inside(v *Value, object bool) error {
	seen := map[string]bool{}
	for p.tokens.More() {
		child := Child{from: p.next()}
		if object {
			key, _ := p.tokens.Token()
			child.Key = key.(string)
			if seen[child.Key] {
				return fmt.Errorf("line %d: %s stands twice in one object", p.d.Line(child.from), plain.Quote(child.Key))
			}
			seen[child.Key] = true
		}
		var err error
		if child.Value, err = p.value(); err != nil {
			return err
		}
		v.Children = append(v.Children, child)
	}
	_, err := p.tokens.Token()
	return err
}

func (v *Value) IsObject() bool { return v != nil && v.Raw[0] == '{' }
func (v *Value) IsArray() bool  { return v != nil && v.Raw[0] == '[' }
func (v *Value) IsTrue() bool   { return v != nil && v.Raw[0] == 't' }

// Text gives a string's value.
func (v *Value) Text() (text string, ok bool) {
	if v == nil || v.Raw[0] != '"' {
		return "", false
	}
	ok = json.Unmarshal(v.Raw, &text) == nil
	return text, ok
}

// Member gives an object's Member, nil when it has none of this name.
func (v *Value) Member(key string) *Value {
	if i := v.child(key); i >= 0 {
		return v.Children[i].Value
	}
	return nil
}

// Texts are the children of a value, "" for those that are no texts; ok says that it is a list of texts alone.
func (v *Value) Texts() (list []string, ok bool) {
	if v == nil {
		return nil, false
	}
	ok = v.IsArray()
	for _, c := range v.Children {
		text, isText := c.Value.Text()
		list, ok = append(list, text), ok && isText
	}
	return list, ok
}

// child gives the place of a step among the children, -1 when it is not there.
func (v *Value) child(step any) int {
	if v == nil {
		return -1
	}
	switch step := step.(type) {
	case string:
		for i, c := range v.Children {
			if v.IsObject() && c.Key == step {
				return i
			}
		}
	case int:
		if v.IsArray() && step < len(v.Children) {
			return step
		}
	}
	return -1
}

// At gives the value At a path, nil when there is none.
func (d *Text) At(path ...any) *Value {
	v := d.Root
	for _, step := range path {
		i := v.child(step)
		if i < 0 {
			return nil
		}
		v = v.Children[i].Value
	}
	return v
}

// Put sets the value at a path. One that is not there yet comes last in its container, which must be there.
func (d *Text) Put(value any, path ...any) error {
	container, step := d.At(path[:len(path)-1]...), path[len(path)-1]
	if !container.IsObject() && !container.IsArray() {
		return fmt.Errorf("no place for %v", path)
	}
	if i := container.child(step); i >= 0 {
		v := container.Children[i].Value
		return d.splice(v.From, v.to, d.written(value, d.indentOf(v.From), bytes.Contains(v.Raw, []byte("\n"))))
	}
	key, _ := step.(string)
	if len(container.Children) == 0 {
		return d.putFirst(container, key, value)
	}
	last := container.Children[len(container.Children)-1]
	space := d.spaceBefore(last.from)
	wide := strings.Contains(space, "\n")
	indent := space[strings.LastIndex(space, "\n")+1:]
	return d.splice(last.Value.to, last.Value.to, ","+space+d.keyed(key, d.written(value, indent, wide)))
}

// putFirst puts the first child into an empty container.
func (d *Text) putFirst(container *Value, key string, value any) error {
	from, to := container.From+1, container.to-1
	// A text without any line break is somebody's choice, unless there is nothing in it.
	if d.Root != container && !bytes.Contains(bytes.TrimSpace(d.Bytes), []byte("\n")) {
		return d.splice(from, to, d.keyed(key, d.written(value, "", false)))
	}
	outer := d.indentOf(container.From)
	inner := outer + d.unit()
	return d.splice(from, to, d.newline()+inner+d.keyed(key, d.written(value, inner, true))+d.newline()+outer)
}

// Remove takes a child out of its container.
func (d *Text) Remove(path ...any) error {
	container := d.At(path[:len(path)-1]...)
	if container == nil {
		return nil
	}
	i := container.child(path[len(path)-1])
	all := container.Children
	switch {
	case i < 0:
		return nil
	case len(all) == 1:
		return d.splice(container.From+1, container.to-1, "")
	case i == len(all)-1:
		return d.splice(all[i-1].Value.to, all[i].Value.to, "")
	}
	return d.splice(all[i].from, all[i+1].from, "")
}

// splice replaces a stretch of the text, which stays JSON: both are whole values, or none. Paths stay good, values do
// not.
func (d *Text) splice(from, to int, with string) error {
	d.Bytes = slices.Concat(d.Bytes[:from], []byte(with), d.Bytes[to:])
	return d.parse()
}

// written writes a value as the text around it is written.
func (d *Text) written(value any, indent string, wide bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if wide {
		e.SetIndent(indent, d.unit())
	}
	if e.Encode(value) != nil { // texts and lists of texts
		return "null"
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.newline())
}

func (d *Text) keyed(key, value string) string {
	if key == "" {
		return value
	}
	colon := ": "
	if len(d.Root.Children) > 0 { // as the first of all members has it
		c := d.Root.Children[0]
		if between := d.Bytes[c.from:c.Value.From]; bytes.HasSuffix(between, []byte(":")) {
			colon = ":"
		}
	}
	return d.written(key, "", false) + colon + value
}

// spaceBefore is the white space that ends at a place.
func (d *Text) spaceBefore(at int) string {
	return string(d.Bytes[len(bytes.TrimRight(d.Bytes[:at], " \t\r\n")):at])
}

// indentOf is the white space that the line of a place begins with.
func (d *Text) indentOf(at int) string {
	line := d.Bytes[bytes.LastIndexByte(d.Bytes[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is one step of indentation.
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
