package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
)

// maxDurationSeconds bounds what a duration may say before it is checked against its key: about 31 years, far
// from the overflow of time.Duration.
const maxDurationSeconds = 1e9

// origins says where each setting was made, as messages name it: FILE:LINE, a variable or a flag. List entries
// have their own: windows[0].tokens.
type origins map[string]string

// set records where a setting was made last, and forgets where the entries of an earlier list were.
func (o origins) set(path, from string) {
	maps.DeleteFunc(o, func(p, _ string) bool { return strings.HasPrefix(p, path+"[") })
	o[path] = from
}

// of returns the origin of a path, or of the list that contains it.
func (o origins) of(path string) string {
	for path != "" {
		if from := o[path]; from != "" {
			return from
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return ""
}

// A parser turns YAML into the typed values of a config and collects what is wrong with it.
type parser struct {
	name     string // of the file or variable
	variable bool   // a variable has no lines worth naming
	from     origins
	faults   []string
}

// parseFile reads the text of a configuration file into nested maps that hold known keys only, each with a value
// of its type.
func parseFile(name string, text []byte, from origins) (map[string]any, error) {
	p := &parser{name: name, from: from}
	root, err := p.document(text)
	if err != nil || root == nil {
		return nil, err
	}
	values, _ := p.group(reflect.TypeFor[Config](), root, "")
	return values, p.err()
}

// parseEnv reads the variables of all settings. An empty one counts as not set, which is how shells and service
// managers leave a variable out.
func parseEnv(env Env, from origins) (map[string]any, error) {
	values := map[string]any{}
	for _, s := range Default().settings() {
		text, ok := env(s.variable())
		if !ok || text == "" {
			continue
		}
		p := &parser{name: s.variable(), variable: true, from: from}
		value, ok := p.plain(s.value.Type(), text, s.path)
		if err := p.err(); err != nil {
			return nil, err
		}
		if ok {
			put(values, strings.Split(s.path, "."), value)
		}
	}
	return values, nil
}

// put stores a value below nested maps.
func put(values map[string]any, path []string, value any) {
	for _, group := range path[:len(path)-1] {
		next, ok := values[group].(map[string]any)
		if !ok {
			next = map[string]any{}
			values[group] = next
		}
		values = next
	}
	values[path[len(path)-1]] = value
}

// at names a place: FILE:LINE, or the file or variable alone when the line is not known.
func (p *parser) at(line int) string {
	if p.variable || line <= 0 {
		return p.name
	}
	return p.name + ":" + strconv.Itoa(line)
}

func (p *parser) fail(line int, format string, args ...any) {
	p.faults = append(p.faults, p.at(line)+": "+fmt.Sprintf(format, args...))
}

// err is the first fault in the order of the text: one mistake often makes more, and a line has room for one.
func (p *parser) err() error {
	switch n := len(p.faults); n {
	case 0:
		return nil
	case 1:
		return errors.New(p.faults[0])
	default:
		return fmt.Errorf("%s (and %d more to correct)", p.faults[0], n-1)
	}
}

// document parses YAML as far as its tree of nodes: keys, duplicates and lines are lost after that. The root is
// nil for a text without content.
func (p *parser) document(text []byte) (*yaml.Node, error) {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("%s: holds a NUL byte; save it as plain UTF-8 text", p.at(lineAt(text, i)))
	}
	if i := invalidUTF8(text); i >= 0 {
		return nil, fmt.Errorf("%s: is not UTF-8; save it as plain UTF-8 text", p.at(lineAt(text, i)))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	if err := decoder.Decode(&root); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, p.syntax(text, err)
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, fmt.Errorf("%s: a second document begins; keep one and remove the line ---", p.at(more.Line))
	} else if err != io.EOF {
		return nil, p.syntax(text, err)
	}
	return root.Content[0], nil
}

// syntax rewords an error of the YAML parser, whose message about tabs is
// obscure.
func (p *parser) syntax(text []byte, err error) error {
	if line := tabbedLine(text); line > 0 && !p.variable {
		return fmt.Errorf("%s: indented with a tab; YAML takes spaces only", p.at(line))
	}
	return fmt.Errorf("%s: not valid YAML: %s; correct the indentation, quotes or brackets there",
		p.name, screen.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
}

func lineAt(text []byte, i int) int { return 1 + bytes.Count(text[:i], []byte("\n")) }

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tabbedLine is the first line with a tab in its indentation, or 0.
func tabbedLine(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.IndexByte(indent, '\t') >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return n
		}
	}
	return 0
}

// resolve follows an alias to its anchor. An alias never points to an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// value reads a node as a value of the type. The depth is that of the type, so neither nesting nor an anchor
// that holds itself can make it run away.
func (p *parser) value(typ reflect.Type, n *yaml.Node, path string) (any, bool) {
	p.from[path] = p.at(n.Line)
	n = resolve(n)
	switch typ.Kind() {
	case reflect.Struct:
		return p.group(typ, n, path)
	case reflect.Slice:
		return p.list(typ, n, path)
	}
	if n.Kind == yaml.ScalarNode {
		if v, ok := scalar(typ, n); ok {
			return v, true
		}
	}
	p.mistyped(typ, n, path)
	return nil, false
}

// group reads a mapping whose keys are the fields of the type. Without a value it is a group of nothing: that is
// what remains when every line below a key is commented out.
func (p *parser) group(typ reflect.Type, n *yaml.Node, path string) (map[string]any, bool) {
	values := map[string]any{}
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return values, true
	}
	if n.Kind != yaml.MappingNode {
		p.mistyped(typ, n, path)
		return nil, false
	}
	fields := map[string]reflect.Type{}
	for f := range typ.Fields() {
		fields[f.Tag.Get("yaml")] = f.Type
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		value := n.Content[i+1]
		sub := strings.TrimPrefix(path+"."+key.Value, ".")
		field, known := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			p.fail(key.Line, "%s is used as a key; write a plain word", describe(resolve(key)))
		case key.ShortTag() == "!!merge":
			p.fail(key.Line, "merge keys (<<) are not read; write the keys out")
		case !known:
			p.fail(key.Line, "unknown key %s", unknownKey(sub, typ, path))
		case lines[key.Value] > 0:
			p.fail(key.Line, "key %q stands at line %d already; keep one of the two", sub, lines[key.Value])
		default:
			lines[key.Value] = key.Line
			if v, ok := p.value(field, value, sub); ok {
				values[key.Value] = v
			}
		}
	}
	return values, true
}

// list reads a sequence. Lists of groups stay generic maps, which the decoder fills into structs.
func (p *parser) list(typ reflect.Type, n *yaml.Node, path string) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		p.mistyped(typ, n, path)
		return nil, false
	}
	values := make([]any, 0, len(n.Content))
	for i, entry := range n.Content {
		if v, ok := p.value(typ.Elem(), entry, fmt.Sprintf("%s[%d]", path, i)); ok {
			values = append(values, v)
		}
	}
	return values, true
}

// plain reads the text of a variable: text as it stands, lists separated by commas, lists of groups and any list
// in brackets as YAML, and so JSON.
func (p *parser) plain(typ reflect.Type, text, path string) (any, bool) {
	p.from.set(path, p.name)
	trimmed := strings.TrimSpace(text)
	switch typ.Kind() {
	case reflect.String:
		return text, true
	case reflect.Bool:
		if b, err := strconv.ParseBool(trimmed); err == nil {
			return b, true
		}
	case reflect.Slice:
		bracketed := strings.HasPrefix(trimmed, "[") && strings.HasSuffix(trimmed, "]")
		if !bracketed && typ.Elem().Kind() != reflect.Struct {
			return p.list(typ, commaSeparated(typ.Elem(), trimmed), path)
		}
		n, err := p.document([]byte(text))
		if err != nil {
			p.fail(0, "%s must be %s, and this is not valid YAML", path, wanted(typ))
			return nil, false
		}
		if n != nil {
			return p.value(typ, n, path)
		}
	}
	return p.value(typ, &yaml.Node{Kind: yaml.ScalarNode, Value: trimmed}, path)
}

// commaSeparated makes a sequence of plain scalars; empty ones are left out.
func commaSeparated(elem reflect.Type, text string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: item}
		if elem.Kind() == reflect.String {
			n.Tag = "!!str"
		}
		list.Content = append(list.Content, n)
	}
	return list
}

// scalar reads one value. It takes what YAML calls the value's type at its word: text stays text, so that a
// model named 4 or a path named true must be quoted and nothing is guessed.
func scalar(typ reflect.Type, n *yaml.Node) (any, bool) {
	tag := n.ShortTag()
	if typ == reflect.TypeFor[time.Duration]() {
		d, err := ParseDuration(n.Value)
		return d, err == nil && (tag == "!!str" || tag == "!!int" || tag == "!!float")
	}
	switch typ.Kind() {
	case reflect.String:
		return n.Value, tag == "!!str"
	case reflect.Bool:
		return n.Value == "true", tag == "!!bool" && (n.Value == "true" || n.Value == "false")
	case reflect.Int:
		i, err := wholeNumber(n.Value)
		return i, err == nil && (tag == "!!int" || tag == "!!float")
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		return f, err == nil && (tag == "!!int" || tag == "!!float")
	}
	return nil, false
}

// wholeNumber reads 1000000, 1_000_000 and 1e6. A leading zero is refused: YAML readers disagree whether 050 is
// fifty or forty.
func wholeNumber(s string) (int, error) {
	s = strings.ReplaceAll(s, "_", "")
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0, strconv.ErrSyntax
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return int(i), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(f) <= 1e15) || f != math.Trunc(f) {
		return 0, strconv.ErrSyntax
	}
	return int(f), nil
}

// ParseDuration reads 90, 0.5, 3m or 1h30m; a bare number is seconds.
func ParseDuration(s string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "-.0123456789") == "" {
		if seconds > maxDurationSeconds || seconds < -maxDurationSeconds {
			return 0, fmt.Errorf(
				"duration %s is too long; write at most %d seconds",
				plain.Quote(s),
				int64(maxDurationSeconds),
			)
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%s is no duration; write seconds, or such as 3m or 1h30m", plain.Quote(s))
	}
	return d, nil
}
