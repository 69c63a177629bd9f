package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Fields returns the fields of a struct by their names in JSON.
func Fields(v any) (names []string, values []reflect.Value) {
	for field, value := range reflect.ValueOf(v).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
			values = append(values, value)
		}
	}
	return names, values
}

// Decode decodes a JSON object into the struct to which v points and returns
// the members that the struct lacks. Unlike encoding/json it requires exact
// names. A member of the wrong type leaves its field zero and causes an error.
// If data is not an object, rest is nil.
func Decode(data []byte, v any) (rest map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(data, &rest); err != nil {
		return nil, err
	}
	if rest == nil {
		return nil, errors.New("null is not an object")
	}
	names, values := Fields(v)
	for i, name := range names {
		raw, ok := rest[name]
		if !ok {
			continue
		}
		delete(rest, name)
		if wrong := json.Unmarshal(raw, values[i].Addr().Interface()); wrong != nil {
			values[i].SetZero()
			err = fmt.Errorf("%s: %w", name, wrong)
		}
	}
	return rest, err
}

// Encode encodes a struct as JSON and adds the members that Decode returned. It
// does not escape <, > and &, since people read these files.
func Encode(v any, rest map[string]json.RawMessage) ([]byte, error) {
	data, err := marshal(v)
	if err != nil || len(rest) == 0 {
		return data, err
	}
	more, err := marshal(rest) // sorted
	if err != nil || len(data) == len("{}") {
		return more, err
	}
	return slices.Concat(data[:len(data)-1], []byte{','}, more[1:]), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Text is like Encode, but indents the result for people.
func Text(v any, rest map[string]json.RawMessage) ([]byte, error) {
	data, err := Encode(v, rest)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, data, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}
