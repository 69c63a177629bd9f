package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sm/dashboards/screen/plain"
)

// mistyped reports a value of the wrong type and the type that the key takes.
func (p *parser) mistyped(typ reflect.Type, n *yaml.Node, path string) {
	advice := ""
	if typ.Kind() == reflect.String && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		advice = "; put it in quotes"
	}
	given := describe(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" && mayHoldSecret(typ, n.Value, path) {
		given = "what is there, which is not shown as it may be a secret"
	}
	p.fail(n.Line, "%s must be %s, not %s%s", cmp.Or(path, "the file"), wanted(typ), given, advice)
}

// mayHoldSecret reports whether an invalid value may be a secret: it is in the
// place of the path of a secret's file, or in the group of that key, or it is
// the only word of the file and as long as a token.
func mayHoldSecret(typ reflect.Type, word, path string) bool {
	if typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	return forSecrets(path) || path == "" && len(word) >= minToken ||
		typ.Kind() == reflect.Struct && slices.ContainsFunc(keysOf(typ), forSecrets)
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
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Struct {
			return "a list such as [{" + strings.Join(keysOf(typ.Elem()), ": …, ") + ": …}]"
		}
		return "a list such as [a, b]"
	}
	if typ == reflect.TypeFor[Config]() {
		return "keys with values, such as socket: PATH"
	}
	return "a group of the keys " + strings.Join(keysOf(typ), ", ")
}

// describe words what a node is.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a group of keys"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return "the text " + plain.Quote(n.Value)
	}
	return plain.Quote(n.Value)
}

func keysOf(typ reflect.Type) []string {
	var keys []string
	for f := range typ.Fields() {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// unknownKey reports an unknown key, with the key that was probably meant.
// Inside an entry of a list it suggests keys of that entry only. A key that
// resembles no known one may be a misplaced token; it is not shown if it is as
// long as one, or next to the key of a secret's file.
func unknownKey(unknown string, group reflect.Type, path string) string {
	var known []string
	if strings.HasSuffix(path, "]") {
		for _, key := range keysOf(group) {
			known = append(known, path+"."+key)
		}
	} else {
		known = knownPaths(reflect.TypeFor[Config](), "")
	}
	best, distance := nearest(unknown, known)
	like := max(2, len(leaf(unknown))/2)
	secret := distance > like && len(unknown) >= minToken ||
		distance > 2 && slices.ContainsFunc(keysOf(group), forSecrets)
	name := plain.Quote(unknown)
	if secret {
		name = "in " + cmp.Or(path, "the file") + ", not shown as it may be a secret"
	}
	switch {
	case best == unknown:
		// Only a key with dots in its name reads like the path of another.
		return fmt.Sprintf("%s; write %q below a line %q", name, leaf(best), best[:strings.LastIndex(best, ".")]+":")
	case distance <= like:
		return fmt.Sprintf("%s; did you mean %q?", name, best)
	case secret:
		return name + "; remove it"
	}
	return fmt.Sprintf("%s; remove it, or use a known one: the nearest is %q", name, best)
}

// forSecrets reports whether a setting is the path of a file with a secret.
func forSecrets(path string) bool { return strings.HasSuffix(path, "_file") }

// knownPaths lists groups and settings alike.
func knownPaths(typ reflect.Type, prefix string) []string {
	var paths []string
	for f := range typ.Fields() {
		path := prefix + f.Tag.Get("yaml")
		paths = append(paths, path)
		if f.Type.Kind() == reflect.Struct {
			paths = append(paths, knownPaths(f.Type, path+".")...)
		}
	}
	return paths
}

func leaf(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// nearest finds the known path with the fewest edits to it. A right name in the wrong group counts as near too.
// Case and the choice between - and _ cost one edit together, however often they differ.
func nearest(unknown string, known []string) (best string, distance int) {
	distance = -1
	for _, k := range known {
		d := min(looseDistance(unknown, k), 1+looseDistance(leaf(unknown), leaf(k)))
		if distance < 0 || d < distance {
			best = k
			distance = d
		}
	}
	return best, distance
}

func looseDistance(a, b string) int {
	fold := strings.NewReplacer("-", "_", " ", "_")
	la := fold.Replace(strings.ToLower(a))
	lb := fold.Replace(strings.ToLower(b))
	d := edits(la, lb)
	if d == 0 && a != b {
		return 1
	}
	return d
}

// edits counts the edits between two texts: a character more, less or another, or two that changed places. It looks at their
// beginnings only: no key is longer.
func edits(a, b string) int {
	const longest = 64
	ra := []rune(a)
	rb := []rune(b)
	ra = ra[:min(longest, len(ra))]
	rb = rb[:min(longest, len(rb))]
	// rows[i][j] is for the first i characters of the one and the first j of the other.
	rows := make([][]int, len(ra)+1)
	for i := range rows {
		rows[i] = make([]int, len(rb)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i, ca := range ra {
		for j, cb := range rb {
			edit := rows[i][j]
			if ca != cb {
				edit++
			}
			edit = min(edit, rows[i+1][j]+1, rows[i][j+1]+1)
			if i > 0 && j > 0 && ca == rb[j-1] && cb == ra[i-1] {
				edit = min(edit, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = edit
		}
	}
	return rows[len(ra)][len(rb)]
}

// Nearest is the one of the known names that an unknown one is likely to mean; "" for none.
func Nearest(unknown string, known []string) string {
	if best, distance := nearest(unknown, known); distance >= 0 && distance <= max(1, len(unknown)/3) {
		return best
	}
	return ""
}
