package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"sm/dashboards/screen/plain"
)

// maxDurationSeconds limits a duration that is given as a number, so that
// time.Duration cannot overflow: about 31 years. The bounds of the key are
// checked later.
const maxDurationSeconds = 1e9

var durationType = reflect.TypeFor[time.Duration]()

// convert returns a value of the file, a variable or a default in a form that
// can be decoded into to. Its errors do not contain the value: it may be a
// token in the wrong place.
func convert(from, to reflect.Value) (any, error) {
	typ := to.Type()
	value := from.Interface()
	text, isText := value.(string)
	fits := false
	var err error
	switch {
	case typ == durationType:
		value, err = ParseDuration(fmt.Sprint(value))
		fits = err == nil
	case typ.Kind() == reflect.Bool:
		value, err = strconv.ParseBool(fmt.Sprint(value))
		fits = err == nil
	case typ.Kind() == reflect.String:
		fits = isText
	case isText:
		if parsed := fromText(text, typ); parsed != nil {
			return convert(reflect.ValueOf(parsed), to)
		}
	case to.CanInt() && from.CanFloat():
		f := from.Float()
		value = int64(f)
		fits = f == math.Trunc(f) && math.Abs(f) <= 1e15
	case to.CanInt():
		fits = from.CanInt()
	case typ.Kind() == reflect.Struct:
		fits = from.Kind() == reflect.Map
	case typ.Kind() == reflect.Float64:
		fits = from.CanInt() || from.CanFloat()
	default:
		fits = from.Kind() == typ.Kind()
	}
	if !fits {
		return nil, errors.New("must be " + wanted(typ))
	}
	return value, nil
}

// fromText parses a text as YAML, and so JSON. A list of plain values may be
// separated by commas. It returns nil if there is no value.
func fromText(text string, typ reflect.Type) (value any) {
	text = strings.TrimSpace(text)
	if typ.Kind() == reflect.Slice && (text == "" ||
		typ.Elem().Kind() != reflect.Struct && !strings.HasPrefix(text, "[")) {
		items := []string{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items
	}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil
	}
	if _, again := value.(string); again {
		return nil
	}
	return value
}

// ParseDuration reads 90, 0.5, 3m or 1h30m; a bare number is seconds.
func ParseDuration(s string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil &&
		strings.Trim(s, "-.0123456789") == "" {
		if math.Abs(seconds) > maxDurationSeconds {
			return 0, fmt.Errorf("duration %s is too long", plain.Quote(s))
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}

// wanted describes the values of a type, with an example if their form matters.
func wanted(typ reflect.Type) string {
	if typ == durationType {
		return "a duration such as 90, 3m or 1h30m"
	}
	switch typ.Kind() {
	case reflect.String:
		return "text; put it in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Struct:
		return "a group of the keys " + strings.Join(keysOf(typ, ""), ", ")
	}
	if typ.Elem().Kind() == reflect.Struct {
		return "a list such as [{" + strings.Join(keysOf(typ.Elem(), ""), ": …, ") + ": …}]"
	}
	return "a list such as [a, b]"
}

// keysOf returns the paths of all groups and keys below a group, or below a
// list of groups.
func keysOf(typ reflect.Type, path string) (keys []string) {
	if typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for f := range typ.Fields() {
		key := path
		if name := f.Tag.Get("yaml"); !f.Anonymous && name != "-" {
			key = strings.TrimPrefix(path+"."+name, ".")
			keys = append(keys, key)
		}
		keys = append(keys, keysOf(f.Type, key)...)
	}
	return keys
}

// unknownKey quotes the path of an unknown key and adds the nearest key, first
// of the same group, then of any.
func unknownKey(path string) string {
	text := plain.Quote(path)
	group, _, _ := strings.Cut(path, "[")
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	if group == path {
		group = strings.TrimSuffix(strings.TrimSuffix(path, leaf), ".")
	}
	for _, same := range []bool{true, false} {
		near := map[string]string{}
		for _, key := range keysOf(reflect.TypeFor[Config](), "") {
			end := strings.LastIndexByte(key, '.')
			if (key[:max(0, end)] == group) == same {
				near[key[end+1:]] = key
			}
		}
		if name := Nearest(leaf, slices.Sorted(maps.Keys(near))); name != "" {
			return fmt.Sprintf("%s; did you mean %q?", text, near[name])
		}
	}
	return text + "; sm check-config --print lists all keys"
}

// Nearest returns the known name that is most similar to an unknown one, "" if
// none is similar.
func Nearest(unknown string, known []string) string {
	names := new(cobra.Command)
	for _, name := range known {
		names.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	away := func(name string) int {
		return max(len(name)-len(unknown), len(unknown)-len(name))
	}
	for most := 1; most <= (len(unknown)+2)/3; most++ {
		names.SuggestionsMinimumDistance = most
		if list := names.SuggestionsFor(unknown); len(list) > 0 {
			// Swapped letters are more likely than missing ones.
			return slices.MinFunc(list, func(a, b string) int { return away(a) - away(b) })
		}
	}
	return ""
}

// Stray returns the variables in vars that have sm's prefix and set no key,
// each with the nearest known name, or "". They are not errors, since other
// programs may use the prefix. vars have the form NAME=value; known are the
// names of sm's variables that set no key.
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
