package hook

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marshal is json.Marshal without \u003c for <, which would grow texts sixfold. A hook encodes one value and ends: what
// json.Marshal prepares of a type, for the next values, takes longer than all else that a hook does.
func Marshal(v any) []byte { return appendValue(nil, reflect.ValueOf(v)) }

// appendValue leaves to package json what is neither a text, nor a number or a struct.
func appendValue(b []byte, v reflect.Value) []byte {
	if m, ok := v.Interface().(json.Marshaler); ok {
		text, err := m.MarshalJSON()
		buffer := bytes.NewBuffer(b)
		if err != nil || json.Compact(buffer, text) != nil { // times of four-digit years and checked JSON
			return append(b, "null"...)
		}
		return buffer.Bytes()
	}
	switch v.Kind() {
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Struct:
		return appendStruct(b, v)
	}
	return append(b, standard(v.Interface())...)
}

// appendStruct knows the tags that this package uses.
func appendStruct(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	empty := len(b)
	for field, value := range v.Fields() {
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || option != "" && isZero(value) {
			continue
		}
		if len(b) > empty {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"', ':')
		b = appendValue(b, value)
	}
	return append(b, '}')
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// appendString writes most texts as they are.
func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	return append(b, standard(s)...)
}

// isPlain reports whether a text is the same in JSON quotes. For characters from
// U+2000 on it returns false without a closer look.
func isPlain[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0xe2 {
			return false
		}
	}
	return utf8.ValidString(string(s))
}

// standard is what package json makes of a value.
func standard(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // texts, and numbers by name
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
