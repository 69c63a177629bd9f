package state

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/tally"

	"github.com/fxamacker/cbor/v2"
)

// fill sets every field to a different value that is not zero.
func fill(t *testing.T, v reflect.Value, n *int64) {
	t.Helper()
	*n += 7
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(1_700_000_000+*n, *n).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() {
				t.Fatalf("%s.%s is not exported: it cannot be stored", v.Type(), f.Name)
			}
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Map: // of agents, which are values
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		v.SetInt(*n)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(uint64(*n))
	default:
		t.Fatalf("fill cannot make a %s", v.Type())
	}
}

func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := int64(0)
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

func TestStoredSurvives(t *testing.T) {
	// A Store also writes these outside of records: created, settled, claims.
	want := filled[fleet.Stored](t)
	for i := range want.Files {
		want.Files[i].Cursor.Path += fmt.Sprint(i)
	}
	dir := t.TempDir()
	s, err := Open(dir, quiet(), want.Created)
	noErrors(t, err)
	want.Agents = nil // values are written by the observer
	mustSave(t, s, fleet.Delta{
		Settled:  want.Settled,
		Files:    want.Files,
		Records:  want.Records,
		Claims:   want.Claims,
		Counters: &want.Counters,
	})
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("in the same run (-want +got):\n%s", d)
	}
	s.Close()
	if d := sameStored(want, mustLoad(t, mustOpen(t, dir))); d != "" {
		t.Errorf("in the next run (-want +got):\n%s", d)
	}
}

// TestStoredNames tests that the names of the fields are those of earlier versions. A renamed
// field would be read as zero.
func TestStoredNames(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, v := range []any{
		head{},
		filled[fleet.File](t),
		filled[fleet.SessionRecord](t),
		filled[tally.Counters](t),
	} {
		data, err := encoding.Marshal(v)
		noErrors(t, err)
		var fields any
		noErrors(t, cbor.Unmarshal(data, &fields))
		fmt.Fprintf(&all, "%T%s\n", v, names(fields))
	}
	const golden = "testdata/fields.golden"
	if os.Getenv("SM_UPDATE") != "" {
		noErrors(t, os.WriteFile(golden, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	noErrors(t, err)
	if d := cmp.Diff(strings.Fields(string(want)), strings.Fields(all.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// names lists the fields of a decoded record, those of nested records in brackets.
func names(v any) string {
	switch v := v.(type) {
	case []any:
		return names(v[0])
	case map[any]any:
		var list []string
		for name, field := range v {
			list = append(list, fmt.Sprint(name)+names(field))
		}
		slices.Sort(list)
		return "(" + strings.Join(list, " ") + ")"
	}
	return ""
}
