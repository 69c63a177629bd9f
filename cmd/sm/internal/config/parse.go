package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
)

// maxDurationSeconds bounds a duration before it is checked against its key: about 31 years, far
// from the overflow of time.Duration.
const maxDurationSeconds = 1e9

// origins are the places where settings were made, as messages name them: FILE:LINE, a variable or a flag. List
// entries have their own: windows[0].tokens.
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

// A parser turns YAML into the typed values of a config and collects what is wrong with it. What it reports has no
// values: a token may be in the wrong place.
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
	return values, firstOf(p.faults)
}

// parseEnv reads the variables of all settings. An empty one counts as not set, which is how shells and service
// managers leave a variable out.
func parseEnv(keys []setting, env Env, from origins) (map[string]any, error) {
	all := map[string]any{}
	for _, s := range keys {
		text, ok := env(s.variable())
		if !ok || text == "" {
			continue
		}
		p := &parser{name: s.variable(), variable: true, from: from}
		value, ok := p.plain(s.value.Type(), text, s.path)
		if !ok || len(p.faults) > 0 {
			return nil, firstOf(p.faults)
		}
		values := all
		group, key, grouped := strings.Cut(s.path, ".")
		if grouped {
			values, _ = all[group].(map[string]any)
			if values == nil {
				values = map[string]any{}
				all[group] = values
			}
		}
		values[cmp.Or(key, group)] = value
	}
	return all, nil
}

// firstOf returns the first fault: one mistake often makes more, and a line has room for one.
func firstOf(faults []string) error {
	switch n := len(faults); n {
	case 0:
		return nil
	case 1:
		return errors.New(faults[0])
	default:
		return fmt.Errorf("%s (and %d more to correct)", faults[0], n-1)
	}
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

// document parses YAML as far as its tree of nodes: keys, duplicates and lines are lost after that. The root is
// nil for a text without content.
func (p *parser) document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	if err == io.EOF {
		return nil, nil
	}
	if err == nil {
		if err = decoder.Decode(&more); err == nil {
			return nil, fmt.Errorf(
				"%s: a second document begins; keep one and remove the line ---",
				p.at(more.Line),
			)
		}
	}
	if err != io.EOF {
		return nil, fmt.Errorf("%s: not valid YAML: %s; correct the indentation, which is of spaces alone, quotes or brackets there",
			p.name, screen.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	return root.Content[0], nil
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
	if v, ok := scalar(typ, n); ok && n.Kind == yaml.ScalarNode {
		return v, true
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
		sub := strings.TrimPrefix(path+"."+key.Value, ".")
		field, known := fields[key.Value]
		switch {
		case !known || key.Kind != yaml.ScalarNode:
			p.fail(key.Line, "unknown key %s", unknownKey(key.Value, typ, path))
		case lines[key.Value] > 0:
			p.fail(
				key.Line,
				"key %q is at line %d already; keep one of the two",
				sub,
				lines[key.Value],
			)
		default:
			lines[key.Value] = key.Line
			if v, ok := p.value(field, n.Content[i+1], sub); ok {
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

// plain reads the text of a variable: a text as it is, lists separated by commas, lists of groups and any list
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
		if trimmed == "" || !bracketed && typ.Elem().Kind() != reflect.Struct {
			return p.list(typ, commaSeparated(typ.Elem(), trimmed), path)
		}
		if n, err := p.document([]byte(text)); err == nil && n != nil {
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

// scalar reads one value. Its type is the one that YAML gives it: text stays text, so that a model named 4 or a path
// named true must be quoted and nothing is guessed.
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
		return n.Value == "true", n.Value == "true" || n.Value == "false"
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
	if digits := strings.TrimLeft(
		s,
		"+-",
	); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' &&
		digits[1] <= '9' {
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
	if seconds, err := strconv.ParseFloat(
		s,
		64,
	); err == nil &&
		strings.Trim(s, "-.0123456789") == "" {
		if math.Abs(seconds) > maxDurationSeconds {
			return 0, fmt.Errorf("duration %s is too long", plain.Quote(s))
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}

// mistyped reports a value of the wrong type and the type that the key takes.
func (p *parser) mistyped(typ reflect.Type, n *yaml.Node, path string) {
	advice := ""
	if typ.Kind() == reflect.String && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		advice = "; put it in quotes"
	}
	p.fail(n.Line, "%s must be %s%s", cmp.Or(path, "the file"), wanted(typ), advice)
}

// wanted words a type, with an example where the form matters.
func wanted(typ reflect.Type) string {
	if typ == reflect.TypeFor[time.Duration]() {
		return "a duration such as 90, 3m or 1h30m"
	}
	switch typ.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Struct:
		return "a group of the keys " + strings.Join(keysOf(typ), ", ")
	}
	if typ.Elem().Kind() == reflect.Struct {
		return "a list such as [{" + strings.Join(keysOf(typ.Elem()), ": …, ") + ": …}]"
	}
	return "a list such as [a, b]"
}

func keysOf(typ reflect.Type) []string {
	var keys []string
	for f := range typ.Fields() {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// unknownKey describes an unknown key of a group, and the key that was probably meant.
func unknownKey(unknown string, group reflect.Type, path string) string {
	prefix := ""
	if path != "" {
		prefix = path + "."
	}
	if near := Nearest(unknown, keysOf(group)); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", plain.Quote(prefix+unknown), prefix+near)
	}
	for _, s := range new(Config).settings() {
		group, leaf, grouped := strings.Cut(s.path, ".")
		switch {
		case s.path == unknown:
			return fmt.Sprintf("%q; write %q below a line %q", unknown, leaf, group+":")
		case grouped && Nearest(unknown, []string{leaf}) != "":
			return fmt.Sprintf("%s; did you mean %q?", plain.Quote(prefix+unknown), s.path)
		}
	}
	return fmt.Sprintf("%s; the keys of %s are %s", plain.Quote(prefix+unknown),
		cmp.Or(path, "the file"), strings.Join(keysOf(group), ", "))
}

// Nearest returns the one of the known names that an unknown one is likely to mean, "" for none.
func Nearest(unknown string, known []string) string {
	names := new(cobra.Command)
	for _, name := range known {
		names.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	away := func(name string) int {
		return max(
			len(name)-len(unknown),
			len(unknown)-len(name),
		)
	}
	for most := 1; most <= (len(unknown)+2)/3; most++ {
		names.SuggestionsMinimumDistance = most
		if list := names.SuggestionsFor(unknown); len(list) > 0 {
			// Letters that changed places are more likely than missing ones.
			return slices.MinFunc(list, func(a, b string) int { return away(a) - away(b) })
		}
	}
	return ""
}

// Stray lists the variables with our prefix that set nothing, each with the nearest one that does, or "". They are no
// error, since other programs may use the prefix. vars are those of the process, as NAME=value, known the names of ours
// that set no key.
func Stray(vars []string, known ...string) (stray [][2]string) {
	for _, s := range new(Config).settings() {
		known = append(known, s.variable())
	}
	for _, v := range slices.Sorted(slices.Values(vars)) {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "SM_") && !slices.Contains(known, name) {
			stray = append(stray, [2]string{name, Nearest(name, known)})
		}
	}
	return stray
}
