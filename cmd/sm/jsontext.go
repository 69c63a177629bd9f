package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A jsonText is a JSON text that is changed in place: what no change is about keeps every byte, spelling and order.
// Places are named by paths: members by their key, elements by their number.
type jsonText struct {
	text []byte
	root *jsonValue
}

// A jsonValue is a value and where it stands: text[from:to]. Its first byte says what it is.
type jsonValue struct {
	raw      []byte
	from, to int
	children []jsonChild
}

// A jsonChild is a member of an object, or an element of an array, which has no key. It stands at text[from:value.to].
type jsonChild struct {
	key   string
	from  int
	value *jsonValue
}

// parseJSONText takes a text apart. Errors begin with the line. A key that stands twice is one of them: which of the
// two the client would go by, and would keep, is anybody's guess.
func parseJSONText(text []byte) (*jsonText, error) {
	d := &jsonText{text: text}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, d.broken(err)
	}
	return d, d.parse()
}

func (d *jsonText) parse() error {
	p := &jsonParser{d: d}
	root, err := p.value()
	d.root = root
	return err
}

func (d *jsonText) broken(err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	at := min(max(int(syntax.Offset)-1, 0), len(d.text))
	if rest := d.text[at:]; bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")) {
		return fmt.Errorf("line %d: a comment, which JSON does not have", d.line(at))
	}
	return fmt.Errorf("line %d: %w", d.line(at), err)
}

func (d *jsonText) line(at int) int { return 1 + bytes.Count(d.text[:at], []byte("\n")) }

// jsonParser walks through a text that is known to be right.
type jsonParser struct {
	d  *jsonText
	at int
}

// next goes to the next byte that is no white space, comma or colon.
func (p *jsonParser) next() byte {
	for bytes.IndexByte([]byte(" \t\r\n,:"), p.d.text[p.at]) >= 0 {
		p.at++
	}
	return p.d.text[p.at]
}

func (p *jsonParser) value() (*jsonValue, error) {
	v := &jsonValue{}
	switch c := p.next(); c {
	case '{', '[':
		v.from = p.at
		p.at++
		if err := p.inside(v, c == '{'); err != nil {
			return nil, err
		}
	case '"':
		v.from = p.at
		p.quoted()
	default:
		v.from = p.at
		for p.at < len(p.d.text) && bytes.IndexByte([]byte(" \t\r\n,]}"), p.d.text[p.at]) < 0 {
			p.at++
		}
	}
	v.to = p.at
	v.raw = p.d.text[v.from:v.to]
	return v, nil
}

// inside reads the children of an object or array, and its end.
func (p *jsonParser) inside(v *jsonValue, object bool) error {
	seen := map[string]bool{}
	for {
		if c := p.next(); c == '}' || c == ']' {
			p.at++
			return nil
		}
		child := jsonChild{from: p.at}
		if object {
			child.key = unquoteJSON(p.quoted())
			if seen[child.key] {
				return fmt.Errorf("line %d: %s stands twice in one object", p.d.line(child.from), quote(child.key))
			}
			seen[child.key] = true
		}
		var err error
		if child.value, err = p.value(); err != nil {
			return err
		}
		v.children = append(v.children, child)
	}
}

// quoted goes past a string.
func (p *jsonParser) quoted() (raw []byte) {
	from := p.at
	for p.at++; p.d.text[p.at] != '"'; p.at++ {
		if p.d.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return p.d.text[from:p.at]
}

func unquoteJSON(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it is right
	return s
}

func (v *jsonValue) isObject() bool { return v != nil && v.raw[0] == '{' }
func (v *jsonValue) isArray() bool  { return v != nil && v.raw[0] == '[' }
func (v *jsonValue) isTrue() bool   { return v != nil && v.raw[0] == 't' }

// text gives a string's value.
func (v *jsonValue) text() (string, bool) {
	if v == nil || v.raw[0] != '"' {
		return "", false
	}
	return unquoteJSON(v.raw), true
}

// member gives an object's member, nil when it has none of this name.
func (v *jsonValue) member(key string) *jsonValue {
	if i := v.child(key); i >= 0 {
		return v.children[i].value
	}
	return nil
}

// isTexts says whether v is the list of these texts.
func (v *jsonValue) isTexts(want []string) bool {
	if !v.isArray() || len(v.children) != len(want) {
		return false
	}
	for i, c := range v.children {
		if s, ok := c.value.text(); !ok || s != want[i] {
			return false
		}
	}
	return true
}

// child gives the place of a step among the children, -1 when it is not there.
func (v *jsonValue) child(step any) int {
	if v == nil {
		return -1
	}
	switch step := step.(type) {
	case string:
		for i, c := range v.children {
			if v.isObject() && c.key == step {
				return i
			}
		}
	case int:
		if v.isArray() && step < len(v.children) {
			return step
		}
	}
	return -1
}

// at gives the value at a path, nil when there is none.
func (d *jsonText) at(path ...any) *jsonValue {
	v := d.root
	for _, step := range path {
		i := v.child(step)
		if i < 0 {
			return nil
		}
		v = v.children[i].value
	}
	return v
}

// put sets the value at a path. One that is not there yet comes last in its container, which must be there.
func (d *jsonText) put(value any, path ...any) error {
	container, step := d.at(path[:len(path)-1]...), path[len(path)-1]
	if !container.isObject() && !container.isArray() {
		return fmt.Errorf("no place for %v", path)
	}
	if i := container.child(step); i >= 0 {
		v := container.children[i].value
		return d.splice(v.from, v.to, d.written(value, d.indentOf(v.from), d.multiline(v)))
	}
	key, _ := step.(string)
	if len(container.children) == 0 {
		return d.putFirst(container, key, value)
	}
	last := container.children[len(container.children)-1]
	space := d.spaceBefore(last.from)
	wide := strings.Contains(space, "\n")
	indent := space[strings.LastIndex(space, "\n")+1:]
	return d.splice(last.value.to, last.value.to, ","+space+d.keyed(key, d.written(value, indent, wide)))
}

// putFirst puts the first child into an empty container.
func (d *jsonText) putFirst(container *jsonValue, key string, value any) error {
	from, to := container.from+1, container.to-1
	// A text without any line break is somebody's choice, unless there is nothing in it.
	if d.root != container && !bytes.Contains(bytes.TrimSpace(d.text), []byte("\n")) {
		return d.splice(from, to, d.keyed(key, d.written(value, "", false)))
	}
	outer := d.indentOf(container.from)
	inner := outer + d.unit()
	return d.splice(from, to, d.newline()+inner+d.keyed(key, d.written(value, inner, true))+d.newline()+outer)
}

// remove takes a child out of its container.
func (d *jsonText) remove(path ...any) error {
	container := d.at(path[:len(path)-1]...)
	if container == nil {
		return nil
	}
	i := container.child(path[len(path)-1])
	all := container.children
	switch {
	case i < 0:
		return nil
	case len(all) == 1:
		return d.splice(container.from+1, container.to-1, "")
	case i == len(all)-1:
		return d.splice(all[i-1].value.to, all[i].value.to, "")
	}
	return d.splice(all[i].from, all[i+1].from, "")
}

// splice replaces a stretch of the text, which stays JSON: both are whole values, or none. Paths stay good, values do
// not.
func (d *jsonText) splice(from, to int, with string) error {
	d.text = slices.Concat(d.text[:from], []byte(with), d.text[to:])
	return d.parse()
}

// written writes a value as the text around it is written.
func (d *jsonText) written(value any, indent string, wide bool) string {
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

func (d *jsonText) keyed(key, value string) string {
	if key == "" {
		return value
	}
	colon := ": "
	if len(d.root.children) > 0 { // as the first of all members has it
		c := d.root.children[0]
		if between := d.text[c.from:c.value.from]; bytes.HasSuffix(between, []byte(":")) {
			colon = ":"
		}
	}
	return d.written(key, "", false) + colon + value
}

func (d *jsonText) multiline(v *jsonValue) bool {
	return bytes.Contains(d.text[v.from:v.to], []byte("\n"))
}

// spaceBefore is the white space that ends at a place.
func (d *jsonText) spaceBefore(at int) string {
	return string(d.text[len(bytes.TrimRight(d.text[:at], " \t\r\n")):at])
}

// indentOf is the white space that the line of a place begins with.
func (d *jsonText) indentOf(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is one step of indentation.
func (d *jsonText) unit() string {
	if len(d.root.children) > 0 {
		space := d.spaceBefore(d.root.children[0].from)
		if i := strings.LastIndex(space, "\n"); i >= 0 && i+1 < len(space) {
			return space[i+1:]
		}
	}
	return "  "
}

func (d *jsonText) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
