package hook

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sm/transcript/jsonwalk"
)

// members calls f with each member of the JSON object in data, in their order.
// A value is passed as the text has it: a tool's megabyte of output is skipped
// and not decoded. If members returns an error, the effects of f must be
// discarded. A name is decoded only if it may be the name of a member of a
// payload.
func members(data []byte, f func(key string, value []byte)) error {
	var w jsonwalk.Walker
	w.Begin(data)
	err := jsonwalk.Record(&w, func() {
		for name, value := range w.Members(jsonwalk.Text{}) {
			if raw := w.Span(value).Bytes(data); len(raw) > 0 { // otherwise the text is invalid
				f(string(name), raw)
			}
		}
	})
	if err != nil {
		return jsonwalk.ErrNotJSON // also for a blank text
	}
	return nil
}

// Unmarshal decodes the JSON object in data into a struct, by the names in the
// json tags of its fields. A value of another type, or out of bounds, leaves
// its field zero. Texts are names and paths without control characters, of at
// most as many bytes as the tag "max" has, by default 128; texts with a tag
// "cut" are cut to that length.
func Unmarshal(data []byte, to any) error {
	v := reflect.ValueOf(to).Elem()
	v.SetZero()
	fields := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	err := members(data, func(key string, raw []byte) {
		if i, known := fields[key]; known {
			field := v.Field(i)
			if !read(field, raw, v.Type().Field(i).Tag) {
				field.SetZero()
			}
		}
	})
	if err != nil {
		v.SetZero()
	}
	return err
}

// setter is a value that decodes itself.
type setter interface{ set(raw []byte) }

func read(to reflect.Value, raw []byte, tag reflect.StructTag) (ok bool) {
	switch to := to.Addr().Interface().(type) {
	case setter:
		to.set(raw)
		return true
	case *string:
		*to = textOf(raw, tag)
		return true
	case *json.RawMessage:
		*to = slim(raw, maxInput)
		return true
	case *bool:
		*to = string(raw) == "true"
		return *to || string(raw) == "false"
	case *int:
		*to, ok = pid(raw)
	case *int64:
		*to, ok = whole(raw)
	case *float64:
		*to, ok = number(raw, maxReal)
	case *time.Time:
		*to, ok = instant(raw)
	case *Usage:
		ok = to.read(raw)
	default:
		if to := reflect.ValueOf(to).Elem(); to.Kind() == reflect.Pointer {
			value := reflect.New(to.Type().Elem())
			if ok = read(value.Elem(), raw, tag); ok {
				to.Set(value)
			}
			return ok
		}
		ok = Unmarshal(raw, to) == nil
	}
	return ok
}

// textOf decodes a text. With a tag "member" the text may be that member of an
// object. The result for another value is the tag "odd".
func textOf(raw []byte, tag reflect.StructTag) (s string) {
	if member := tag.Get("member"); member != "" && raw[0] == '{' {
		_ = members(raw, func(key string, value []byte) { // it is valid
			if key == member {
				raw = value
			}
		})
	}
	isText := raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	if limit, err := strconv.Atoi(tag.Get("cut")); err == nil {
		return cut(s, limit)
	}
	limit, err := strconv.Atoi(tag.Get("max"))
	if err != nil {
		limit = maxWord
	}
	if isText && len(s) <= limit &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return tag.Get("odd")
}

// cut shortens s to at most limit bytes, at the boundary of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

const (
	// maxReal is the largest total in US dollars that clients themselves
	// accept; no other fraction here is as large.
	maxReal = 1e9
	// maxWhole limits whole numbers so that a float64 is exact.
	maxWhole = 1e15
)

// number decodes a number from 0 to most.
func number(raw []byte, most float64) (n float64, ok bool) {
	if raw[0] < '0' || raw[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && n <= most
}

// whole decodes a whole number in any spelling: 33000, 33000.0, 3.3e4.
func whole(raw []byte) (int64, bool) {
	n, ok := number(raw, maxWhole)
	return int64(n), ok && n == math.Trunc(n)
}

func pid(raw []byte) (int, bool) {
	n, ok := whole(raw)
	return int(n), ok && n > 1 &&
		n <= math.MaxInt32 // 1 is init, which must never be signalled
}

// instant decodes a time that nanoseconds since 1970 can hold.
func instant(raw []byte) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, textOf(raw, ""))
	at = at.UTC()
	return at, err == nil && at.Year() >= 1970 && at.Year() <= 2261
}

// slim returns an object of at most limit bytes: of a larger object as many
// small members as fit. It returns nil for any other value.
func slim(raw []byte, limit int) json.RawMessage {
	var compact bytes.Buffer
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&compact, raw) != nil {
		return nil
	}
	if raw = compact.Bytes(); len(raw) <= limit {
		return raw
	}
	b := append(make([]byte, 0, limit), '{')
	_ = members(raw, func(key string, value []byte) { // it is valid
		name := Marshal(key)
		if len(value) > limit/4 || len(b)+len(name)+len(value)+len(",:}") > limit {
			return
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	})
	return append(b, '}')
}

// Marshal is like json.Marshal, but does not replace < by \u003c, which would
// make texts six times as long.
func Marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // texts, numbers, and times of four-digit years
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A Frame finds the end of a JSON object in a stream whose sender may never close it.
// The zero value is ready.
type Frame struct {
	depth           int
	quoted, escaped bool
}

// Feed processes the next bytes, and returns how many of them belong to the
// object and whether it is complete. Input that does not begin like an object
// is complete at once: there is nothing to wait for.
func (f *Frame) Feed(p []byte) (n int, done bool) {
	for i, c := range p {
		switch {
		case f.escaped:
			f.escaped = false
		case f.quoted:
			f.escaped = c == '\\'
			f.quoted = c != '"'
		case c == '"' && f.depth > 0:
			f.quoted = true
		case c == '{', c == '[' && f.depth > 0:
			f.depth++
		case f.depth == 0:
			if strings.IndexByte(" \n\r\t", c) < 0 {
				return i, true
			}
		case c == '}', c == ']':
			if f.depth--; f.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(p), false
}
